"""A row of the list, and the kinds in the order of their urgency."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime

from django.db.models import TextChoices
from django.utils.translation import pgettext_lazy

SHOWN = 5
"""So many rows of a kind stand on the page; the others are folded."""
_LONG_AGO = datetime(1970, 1, 1, tzinfo=UTC)


class NeedKind(TextChoices):
    """What it is about. The first ones cost somebody a job, the last ones only order."""

    INCIDENT = "incident", pgettext_lazy("what needs you", "Incident")
    LATE = "late", pgettext_lazy("what needs you", "Late victim")
    CYCLE = "cycle", pgettext_lazy("what needs you", "Failing cycles")
    APPROVAL = "approval", pgettext_lazy("what needs you", "Approval")
    PAUSED = "paused", pgettext_lazy("what needs you", "Paused")
    UNDONE = "undone", pgettext_lazy("what needs you", "Undone plan")
    DOCTOR = "doctor", pgettext_lazy("what needs you", "Doctor")
    NODE = "node", pgettext_lazy("what needs you", "Sick node")
    UNEVEN = "uneven", pgettext_lazy("what needs you", "Slow processor")
    UNCONFIGURED = "unconfigured", pgettext_lazy("what needs you", "Without a level")
    REQUEST = "request", pgettext_lazy("what needs you", "Own request")


LOOKS: dict[str, tuple[str, str]] = {
    NeedKind.INCIDENT: ("alert-triangle", "bad"),
    NeedKind.LATE: ("hourglass", "bad"),
    NeedKind.CYCLE: ("alert-circle", "bad"),
    NeedKind.APPROVAL: ("user-circle", "warn"),
    NeedKind.PAUSED: ("player-pause", "warn"),
    NeedKind.UNDONE: ("arrow-back-up", "warn"),
    NeedKind.DOCTOR: ("tools", "bad"),
    NeedKind.NODE: ("server", "warn"),
    NeedKind.UNEVEN: ("gauge", "warn"),
    NeedKind.UNCONFIGURED: ("tag", "calm"),
    NeedKind.REQUEST: ("calendar", "calm"),
}
"""Icon and tone; the tone only repeats what icon and word say."""
_ORDER = {kind: place for place, kind in enumerate(NeedKind)}


@dataclass(frozen=True, slots=True)
class Need:
    """One thing to act on. `partition`: empty where it is about none; `url`: the page where it is acted on."""

    kind: NeedKind
    text: str
    since: datetime | None
    partition: str
    url: str
    number: int = 0
    """Of what it is about, where that has one."""

    @property
    def icon(self) -> str:
        """Of its kind."""
        return LOOKS[self.kind][0]

    @property
    def tone(self) -> str:
        """Of its kind."""
        return LOOKS[self.kind][1]


@dataclass(frozen=True, slots=True)
class KindOfNeeds:
    """The rows of one kind: those that are shown, and those that are folded."""

    kind: NeedKind
    shown: list[Need]
    more: list[Need]


def in_order(needs: Iterable[Need]) -> list[Need]:
    """By urgency, and of a kind what has stood longest first."""
    return sorted(needs, key=lambda need: (_ORDER[need.kind], need.since or _LONG_AGO))


def by_kind(needs: Iterable[Need]) -> list[KindOfNeeds]:
    """The same rows for a page, a few of each kind first."""
    found: dict[NeedKind, list[Need]] = {}
    for need in needs:
        found.setdefault(need.kind, []).append(need)
    return [KindOfNeeds(kind, rows[:SHOWN], rows[SHOWN:]) for kind, rows in found.items()]
