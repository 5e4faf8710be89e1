"""What managers ask for and propose: told to those who can decide, and what became of it to whoever asked."""

from collections.abc import Iterator
from datetime import datetime
from typing import TypeVar

from django.db.models import QuerySet

from console.accounts.models import Role, User
from console.cluster.models import Cluster
from console.notices import texts
from console.notices.models import Notice, NoticeKind
from console.projects.models import ProjectProposal, RequestState, UrgencyRequest

NO_PLAN = 0
Asked = UrgencyRequest | ProjectProposal
T = TypeVar("T", UrgencyRequest, ProjectProposal)


def requests(cluster: Cluster, since: datetime) -> Iterator[Notice]:
    """Those that wait, to every administrator; those that were decided since, to whoever asked and did not decide."""
    rows = UrgencyRequest.objects.filter(project__cluster=cluster).select_related("project")
    proposals = ProjectProposal.objects.filter(cluster=cluster)
    waiting: list[Asked] = [*_waiting(rows), *_waiting(proposals)]
    decided: list[Asked] = [*_decided(rows, since), *_decided(proposals, since)]
    if not waiting and not decided:
        return
    accounts = {account.username: account for account in User.objects.filter(is_active=True)}
    deciders = sorted(name for name, account in accounts.items() if account.role == Role.ADMINISTRATOR)
    for asked in waiting:
        for name in deciders:
            user = accounts[name].slurm_user
            text = _asks(asked)
            yield _notice(NoticeKind.ASKED, f"{_key(asked, 'asked')}/{name}", user, cluster, text)
    for asked in decided:
        if asked.asked_by != asked.decided_by:
            user = accounts[asked.asked_by].slurm_user if asked.asked_by in accounts else asked.asked_by
            text = _answers(asked)
            yield _notice(NoticeKind.DECIDED, _key(asked, "decided"), user, cluster, text)


def _asks(asked: Asked) -> str:
    return texts.proposed(asked) if isinstance(asked, ProjectProposal) else texts.asked(asked)


def _answers(asked: Asked) -> str:
    return texts.judged(asked) if isinstance(asked, ProjectProposal) else texts.decided(asked)


def _key(asked: Asked, what: str) -> str:
    return f"proposal/{what}/{asked.pk}" if isinstance(asked, ProjectProposal) else f"{what}/{asked.pk}"


def _waiting(rows: QuerySet[T]) -> Iterator[T]:
    return rows.filter(state=RequestState.WAITING).order_by("id").iterator()


def _decided(rows: QuerySet[T], since: datetime) -> Iterator[T]:
    ended = rows.filter(state__in=(RequestState.APPROVED, RequestState.REJECTED), decided_at__gte=since)
    return ended.order_by("id").iterator()


def _notice(kind: NoticeKind, key: str, user: str, cluster: Cluster, text: str) -> Notice:
    return Notice(
        kind=kind, key=key, user=user, cluster=cluster.name, partition="", job_id="", plan=NO_PLAN, text=text
    )
