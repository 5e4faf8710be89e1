"""How far the set-up is, and what the mirror shows that nobody has set up yet. Nothing here touches the cluster."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import QuerySet
from django.utils.translation import gettext_lazy as _

from console.accounts.models import Role, User
from console.cluster.models import Cluster, Job
from console.core import clock
from console.partitions.models import Partition
from console.partitions.selectors import policy_of
from console.projects.models import Project
from console.setup.models import Examination, Invitation, PutOff
from scheduler.model.policy import Enforcement

STEPS: tuple[tuple[str, Any, Any], ...] = (
    ("cluster", _("Attach Slurm"), _("The worker looks at the cluster and says what would hinder it.")),
    (
        "import",
        _("Partitions and projects"),
        _("Levels to begin with, and a project for each Slurm account."),
    ),
    (
        "people",
        _("Invite people"),
        _("Other administrators, auditors, partition administrators and managers."),
    ),
    ("shadow", _("Run in shadow"), _("Plans are made, shown and added up; nobody is stopped.")),
)


@dataclass(frozen=True, slots=True)
class Step:
    """One step of the set-up."""

    key: str
    title: Any
    about: Any
    done: bool
    put_off: bool

    @property
    def address(self) -> str:
        """The name of its page."""
        return f"setup-{self.key}"


@dataclass(frozen=True, slots=True)
class Account:
    """A Slurm account as the mirror's jobs show it, that no project stands for."""

    name: str
    users: tuple[str, ...]
    jobs: int


def has_administrator() -> bool:
    """Whether anybody can administer this installation."""
    return User.objects.filter(role=Role.ADMINISTRATOR, is_active=True).exists()


def examination(cluster: Cluster) -> Examination | None:
    """What the doctor found last."""
    return Examination.objects.filter(cluster=cluster).first()


def steps(cluster: Cluster) -> list[Step]:
    """All steps after the first administrator's, with what is done of them."""
    found = examination(cluster)
    rows = partitions(cluster)
    done = {
        "cluster": cluster.observed_at is not None
        and not cluster.fault
        and bool(found and found.worst != "FAIL"),
        "import": any(policy_of(row).levels for row in rows)
        and Project.objects.filter(cluster=cluster).exists(),
        "people": User.objects.count() > 1 or Invitation.objects.exists(),
        "shadow": any(policy_of(row).levels for row in rows),
    }
    off = set(PutOff.objects.values_list("step", flat=True))
    return [Step(key, title, about, done[key], key in off) for key, title, about in STEPS]


def partitions(cluster: Cluster) -> Sequence[Partition]:
    """The partitions that are attached; the cycle attaches each that it sees, in shadow."""
    rows = Partition.objects.filter(cluster=cluster, revision__isnull=False)
    return list(rows.select_related("revision", "cluster"))


def without_levels(cluster: Cluster) -> list[Partition]:
    """Partitions where nobody ranks above anybody yet."""
    return [row for row in partitions(cluster) if not policy_of(row).levels]


def in_shadow(cluster: Cluster) -> list[Partition]:
    """Partitions in which nothing is touched."""
    return [row for row in partitions(cluster) if policy_of(row).enforcement is Enforcement.SHADOW]


def unknown_accounts(cluster: Cluster, most: int = 200) -> list[Account]:
    """Slurm accounts of the jobs seen within the last week that no project stands for, with their users."""
    known = Project.objects.filter(cluster=cluster).exclude(slurm_account="").values("slurm_account")
    pairs = (
        Job.objects.filter(cluster=cluster)
        .exclude(account="")
        .exclude(account__in=known)
        .order_by("account", "user")
        .values_list("account", "user")
    )
    users: dict[str, dict[str, int]] = {}
    for account, user in pairs.iterator():
        counts = users.setdefault(account, {})
        counts[user] = counts.get(user, 0) + 1
    found = [Account(name, tuple(counts), sum(counts.values())) for name, counts in users.items()]
    return sorted(found, key=lambda each: (-each.jobs, each.name))[:most]


def open_invitations() -> QuerySet[Invitation]:
    """Those that can still be used."""
    return Invitation.objects.filter(
        used_at__isnull=True, withdrawn_at__isnull=True, expires_at__gt=clock.now()
    )
