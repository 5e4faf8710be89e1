"""Who may see a study of the last days, and cancel it. Asking for one is asking what a change would do."""

from typing import Any

import rules

from console.accounts.permissions import Permission
from console.accounts.rules import is_administrator, is_signed_in, reads_everything
from console.history.models import Study, StudyKind
from console.partitions.models import Partition
from console.partitions.selectors import administered_partitions


@rules.predicate
def has_asked(user: Any, study: Study | None) -> bool:
    """Has asked for it; without one: may have asked for any. Of finished jobs: administers the partition."""
    if study is None:
        return True
    if study.kind == StudyKind.HINDSIGHT:
        return administers_its_partition(user, study)
    return study.asked_by == user.username


def administers_its_partition(user: Any, study: Study) -> bool:
    """Whether somebody administers the partition that a study is about."""
    rows = Partition.objects.filter(cluster=study.cluster_id, name=study.partition)
    return rows.filter(pk__in=administered_partitions(user)).exists()


rules.add_perm(Permission.STUDY_VIEW, is_signed_in & (reads_everything | has_asked))
rules.add_perm(Permission.STUDY_CANCEL, is_signed_in & (is_administrator | has_asked))
