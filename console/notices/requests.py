"""What managers ask for: told to those who can decide, and what became of it to whoever asked."""

from collections.abc import Iterator
from datetime import datetime

from console.accounts.models import Role, User
from console.cluster.models import Cluster
from console.notices import texts
from console.notices.models import Notice, NoticeKind
from console.projects.models import RequestState, UrgencyRequest

NO_PLAN = 0


def requests(cluster: Cluster, since: datetime) -> Iterator[Notice]:
    """Those that wait, to every administrator; those that were decided since, to whoever asked and did not decide."""
    rows = UrgencyRequest.objects.filter(project__cluster=cluster).select_related("project")
    waiting = list(rows.filter(state=RequestState.WAITING).order_by("id"))
    decided = list(
        rows.filter(state__in=(RequestState.APPROVED, RequestState.REJECTED), decided_at__gte=since).order_by(
            "id"
        )
    )
    if not waiting and not decided:
        return
    accounts = {account.username: account for account in User.objects.filter(is_active=True)}
    deciders = sorted(name for name, account in accounts.items() if account.role == Role.ADMINISTRATOR)
    for asked in waiting:
        for name in deciders:
            user = accounts[name].slurm_user
            text = texts.asked(asked)
            yield _notice(NoticeKind.ASKED, f"asked/{asked.pk}/{name}", user, cluster, text)
    for asked in decided:
        if asked.asked_by != asked.decided_by:
            user = accounts[asked.asked_by].slurm_user if asked.asked_by in accounts else asked.asked_by
            text = texts.decided(asked)
            yield _notice(NoticeKind.DECIDED, f"decided/{asked.pk}", user, cluster, text)


def _notice(kind: NoticeKind, key: str, user: str, cluster: Cluster, text: str) -> Notice:
    return Notice(
        kind=kind, key=key, user=user, cluster=cluster.name, partition="", job_id="", plan=NO_PLAN, text=text
    )
