"""How far the set-up is, and what the mirror shows that nobody has set up yet. Nothing here touches the cluster."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import Count, QuerySet
from django.utils.translation import gettext_lazy as _

from console.accounts.models import Role, User
from console.cluster.models import Cluster, Job
from console.core import clock
from console.partitions.models import Partition
from console.partitions.selectors import policy_of
from console.projects.models import Project
from console.setup.models import Examination, Invitation, PutOff
from console.setup.readiness import Lack, lacking
from console.setup.signing_in import is_set_up

STEPS: tuple[tuple[str, Any, Any], ...] = (
    ("cluster", _("Attach Slurm"), _("The worker looks at the cluster and says what would hinder it.")),
    (
        "import",
        _("Partitions and projects"),
        _("Levels to begin with, and a project for each Slurm account."),
    ),
    (
        "sign-in",
        _("Sign in"),
        _("With a password of Giveway’s own, through a provider, or with a directory’s password."),
    ),
    (
        "people",
        _("Invite people"),
        _("Other administrators, auditors, partition administrators and managers."),
    ),
    ("shadow", _("Run in shadow"), _("Plans are made, shown and added up; nobody is stopped.")),
)


@dataclass(frozen=True, slots=True)
class SetupStep:
    """One step of the set-up."""

    key: str
    title: Any
    about: Any
    done: bool
    put_off: bool
    lacks: list[Lack]

    @property
    def address(self) -> str:
        """The name of its page."""
        return f"setup-{self.key}"


@dataclass(frozen=True, slots=True)
class UnclaimedAccount:
    """A Slurm account that no project stands for; `jobs` of the last week. `parent`: the account above it."""

    name: str
    users: tuple[str, ...]
    jobs: int
    parent: str = ""


@dataclass(frozen=True, slots=True)
class Accounting:
    """What Slurm's accounting told, and when it was asked; `kept`: whether the cluster keeps any."""

    asked_at: datetime | None
    kept: bool
    fault: str
    accounts: tuple[UnclaimedAccount, ...]


def has_administrator() -> bool:
    """Whether anybody can administer this installation."""
    return User.objects.filter(role=Role.ADMINISTRATOR, is_active=True).exists()


def examination(cluster: Cluster) -> Examination | None:
    """What the doctor found last."""
    return Examination.objects.filter(cluster=cluster).first()


def steps(cluster: Cluster) -> list[SetupStep]:
    """All steps after the first administrator's, with what is done of them."""
    found = examination(cluster)
    rows = partitions(cluster)
    lacks = lacking(cluster, rows)
    done = {
        "cluster": cluster.observed_at is not None
        and not cluster.fault
        and bool(found and found.worst != "FAIL"),
        "import": not lacks,
        "sign-in": is_set_up(),
        "people": User.objects.count() > 1 or Invitation.objects.exists(),
        "shadow": not lacks,
    }
    off = set(PutOff.objects.values_list("step", flat=True))
    missing = {"import": lacks, "shadow": lacks}
    return [
        SetupStep(key, title, about, done[key], key in off, missing.get(key, []))
        for key, title, about in STEPS
    ]


def partitions(cluster: Cluster) -> Sequence[Partition]:
    """The partitions that are attached; the cycle attaches each that it sees, in shadow."""
    rows = Partition.objects.filter(cluster=cluster, revision__isnull=False)
    return list(rows.select_related("revision", "cluster"))


def without_levels(cluster: Cluster) -> list[Partition]:
    """Partitions where nobody ranks above anybody yet."""
    return [row for row in partitions(cluster) if not policy_of(row).levels]


def accounting(cluster: Cluster) -> Accounting:
    """What Slurm's accounting told last."""
    row = examination(cluster)
    told = row.accounts if row else {}
    return Accounting(
        asked_at=row.examined_at if row else None,
        kept=bool(told.get("kept")),
        fault=str(told.get("fault", "")),
        accounts=tuple(
            UnclaimedAccount(each["name"], tuple(each["users"]), 0, each["parent"])
            for each in told.get("accounts", ())
        ),
    )


def unknown_accounts(cluster: Cluster, told: Accounting) -> list[UnclaimedAccount]:
    """Slurm accounts that no project stands for: of the jobs seen within the last week, and of the accounting.

    Those with most jobs first, then those with most users. An account without a user is a branch of the tree.
    """
    named = Project.objects.filter(cluster=cluster).exclude(slurm_account="")
    known = {account.lower() for account in named.values_list("slurm_account", flat=True)}
    jobs = Job.objects.filter(cluster=cluster).exclude(account="").values_list("account", "user")
    counts = {(account, user): number for account, user, number in jobs.annotate(Count("pk")).order_by()}
    users: dict[str, set[str]] = {account.name: set(account.users) for account in told.accounts}
    parents = {account.name: account.parent for account in told.accounts}
    seen: dict[str, int] = {}
    for (account, user), number in counts.items():
        users.setdefault(account, set()).add(user)
        seen[account] = seen.get(account, 0) + number
    found = [
        UnclaimedAccount(name, tuple(sorted(names)), seen.get(name, 0), parents.get(name, ""))
        for name, names in users.items()
        if names and name.lower() not in known
    ]
    return sorted(found, key=lambda each: (-each.jobs, -len(each.users), each.name))


def open_invitations() -> QuerySet[Invitation]:
    """Those that can still be used."""
    return Invitation.objects.filter(
        used_at__isnull=True, withdrawn_at__isnull=True, expires_at__gt=clock.now()
    )
