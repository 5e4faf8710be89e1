"""In which ways the victims of plans make room, counted: a job that gives something up and goes on is not stopped."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from django.utils.translation import ngettext

from console.core.l10n_format import in_a_row, names
from scheduler.model.plan import How, Shrinking


class VictimWay(StrEnum):
    """What becomes of a victim."""

    STOP = "stop"
    WORKER = "worker"
    """It is a worker of an elastic job that goes on with its others."""
    FEWER_NODES = "fewer_nodes"
    """It starts again on fewer nodes."""
    PART = "part"
    """It gives a part up while it runs."""
    SWAP = "swap"


def way_of(victim: Mapping[str, Any]) -> VictimWay:
    """The way of a victim, as a plan keeps it."""
    if victim.get("worker_of"):
        return VictimWay.WORKER
    match victim.get("how"):
        case How.NODES:
            return VictimWay.PART if victim.get("by") == Shrinking.INPLACE else VictimWay.FEWER_NODES
        case How.UNITS:
            return VictimWay.PART
        case How.SWAP:
            return VictimWay.SWAP
        case _:
            return VictimWay.STOP


@dataclass(frozen=True, slots=True)
class Making:
    """Victims that make room in one way, in words. `whose`: with the users, as a sentence about them begins."""

    way: VictimWay
    count: int
    users: str

    @property
    def whose(self) -> str:
        """`stops 2 jobs of ann and bob`."""
        match self.way:
            case VictimWay.STOP:
                text = ngettext("stops %(n)d job of %(users)s", "stops %(n)d jobs of %(users)s", self.count)
            case VictimWay.WORKER:
                text = ngettext(
                    "takes %(n)d worker of %(users)s", "takes %(n)d workers of %(users)s", self.count
                )
            case VictimWay.FEWER_NODES:
                text = ngettext(
                    "restarts %(n)d job of %(users)s on fewer nodes",
                    "restarts %(n)d jobs of %(users)s on fewer nodes",
                    self.count,
                )
            case VictimWay.PART:
                text = ngettext(
                    "takes a part of %(n)d job of %(users)s",
                    "takes parts of %(n)d jobs of %(users)s",
                    self.count,
                )
            case _:
                text = ngettext(
                    "exchanges nodes of %(n)d job of %(users)s",
                    "exchanges nodes of %(n)d jobs of %(users)s",
                    self.count,
                )
        return text % {"n": self.count, "users": self.users}

    @property
    def to_do(self) -> str:
        """`stop 2 jobs`, as a button says what it does."""
        match self.way:
            case VictimWay.STOP:
                text = ngettext("stop %(n)d job", "stop %(n)d jobs", self.count)
            case VictimWay.WORKER:
                text = ngettext("take %(n)d worker", "take %(n)d workers", self.count)
            case VictimWay.FEWER_NODES:
                text = ngettext(
                    "restart %(n)d job on fewer nodes", "restart %(n)d jobs on fewer nodes", self.count
                )
            case VictimWay.PART:
                text = ngettext("take a part of %(n)d job", "take parts of %(n)d jobs", self.count)
            case _:
                text = ngettext("exchange nodes of %(n)d job", "exchange nodes of %(n)d jobs", self.count)
        return text % {"n": self.count}

    @property
    def short(self) -> str:
        """`2 stops`, where there is little room."""
        match self.way:
            case VictimWay.STOP:
                text = ngettext("%(n)d stop", "%(n)d stops", self.count)
            case VictimWay.WORKER:
                text = ngettext("%(n)d worker taken", "%(n)d workers taken", self.count)
            case VictimWay.FEWER_NODES:
                text = ngettext("%(n)d restart on fewer nodes", "%(n)d restarts on fewer nodes", self.count)
            case VictimWay.PART:
                text = ngettext("a part of %(n)d job taken", "parts of %(n)d jobs taken", self.count)
            case _:
                text = ngettext("%(n)d exchange of nodes", "%(n)d exchanges of nodes", self.count)
        return text % {"n": self.count}


def ways_of(victims: Iterable[Mapping[str, Any]]) -> list[Making]:
    """The victims by the ways in which they make room, those that are stopped first."""
    found: dict[VictimWay, list[str]] = {}
    for victim in victims:
        found.setdefault(way_of(victim), []).append(str(victim.get("user", "")))
    return [Making(way, len(found[way]), names(sorted(set(found[way])))) for way in VictimWay if way in found]


def count_of(victims: Iterable[Mapping[str, Any]], *ways: VictimWay) -> int:
    """How many make room in one of these ways."""
    return sum(way_of(victim) in ways for victim in victims)


def only_stops(victims: Iterable[Mapping[str, Any]]) -> bool:
    """Whether each of them is stopped."""
    return all(way_of(victim) is VictimWay.STOP for victim in victims)


def shortly(victims: Iterable[Mapping[str, Any]]) -> str:
    """`1 stop, 2 workers taken`."""
    return in_a_row(each.short for each in ways_of(victims))
