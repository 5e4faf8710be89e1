"""A plan's nodes before and after, as bars: who is there, who makes room, who comes. Read from the plan's own input.

Before is what the cycle has seen when it worked the plan out; after is what the plan wants. Blocks that stay keep their
place, so that the eye finds what changes.
"""

import json
import zlib
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import groupby
from typing import Any, NamedTuple

from django.utils.translation import gettext as _
from django.utils.translation import ngettext, pgettext

from console.core import l10n_format
from console.overview.heldjobs import HeldJob
from console.overview.nodemap import LETTERED, LONGEST_LETTERS, MOST_BLOCKS, Segment, share
from console.reports.kinds import drawn_resource
from console.steering.models import Plan, StoredSnapshot
from scheduler.model.jobs import Level
from scheduler.priority.order import natural

MOST_NODES = 12
"""So many nodes are drawn; the others are counted."""


class SeenRoom(NamedTuple):
    """The plan's nodes (`total` and what is held elsewhere of each) and the jobs on them, in the planner's input.

    `levels`: of the jobs that are served. `names`: of the levels.
    """

    nodes: Mapping[str, tuple[Mapping[str, int], Mapping[str, int]]]
    jobs: Sequence[HeldJob]
    levels: Mapping[str, Level]
    names: Sequence[str]
    more: int


class RoomPart(NamedTuple):
    """A part of a bar before it has a place. `mark`: `leaving`, `coming`, `elsewhere`, or nothing: it stays."""

    job_id: str
    level: Level
    width: int
    label: str
    mark: str = ""


@dataclass(frozen=True, slots=True)
class RoomBar:
    """A bar: its blocks, and itself in words."""

    segments: Sequence[Segment]
    words: str


@dataclass(frozen=True, slots=True)
class RoomChange:
    """A node of a plan: its bar before and after."""

    node: str
    before: RoomBar
    after: RoomBar


@dataclass(frozen=True, slots=True)
class PlanRooms:
    """What a plan changes on its nodes; `more`: nodes that are not drawn."""

    changes: Sequence[RoomChange]
    more: int = 0


def rooms_of(plans: Sequence[Plan]) -> PlanRooms | None:
    """The bars of plans that are decided together. None when their input was not kept, or no node is told."""
    lead = plans[0]
    if lead.stored_snapshot is None:
        return None
    digest = lead.stored_snapshot.digest
    leaving = {str(victim["job"]): victim for plan in plans for victim in plan.victims}
    placed = frozenset(node for plan in plans for node in plan.placement)
    axis = "task_level" if lead.mode.startswith("task") else "user_level"
    served = frozenset(plan.job_id for plan in plans)
    seen = _seen(digest, placed, frozenset(leaving), served, axis)
    painter = _RoomPainter(seen, leaving, plans)
    changes = [painter.change(node) for node in seen.nodes]
    return PlanRooms(changes, seen.more) if changes else None


@lru_cache(maxsize=64)
def _seen(
    digest: str, placed: Collection[str], leaving: Collection[str], served: Collection[str], axis: str
) -> SeenRoom:
    """Kept, for an open page asks every two seconds and an input may have ten thousand jobs; it never changes."""
    body = StoredSnapshot.objects.values_list("body", flat=True).get(digest=digest)
    document = json.loads(zlib.decompress(body))
    every = document.get("jobs", ())
    emptied = {node for each in every if each["id"] in leaving for node in each.get("alloc", {})}
    # Where the job is to run comes first: of hundreds of nodes those are what one looks for.
    wanted = [*sorted(placed, key=natural), *sorted(emptied - set(placed), key=natural)]
    known = {each["name"]: each for each in document.get("nodes", ())}
    drawn = [name for name in wanted if name in known][:MOST_NODES]
    jobs = [
        HeldJob(each["id"], each.get("name", ""), each["user"], each.get(axis), each["alloc"])
        for each in every
        if not each.get("alloc", {}).keys().isdisjoint(drawn)
    ]
    jobs.sort(key=lambda job: (job.level is None, job.level or 0, natural(job.job_id)))
    return SeenRoom(
        {name: (known[name]["total"], known[name].get("held_elsewhere", {})) for name in drawn},
        jobs,
        {each["id"]: each.get(axis) for each in every if each["id"] in served},
        document["partition"].get("level_names", ()),
        len(wanted) - len(drawn),
    )


def _folded(parts: Sequence[RoomPart], resource: str) -> list[RoomPart]:
    """One part per level where there are too many to be told apart."""
    if len(parts) <= MOST_BLOCKS:
        return list(parts)
    folded = []
    for level, group in groupby(parts, key=lambda part: part.level):
        theirs = list(group)
        width = sum(part.width for part in theirs)
        count = ngettext("%(n)s job", "%(n)s jobs", len(theirs)) % {"n": len(theirs)}
        words = f"{count} ({width} {resource})"
        if theirs[0].mark:
            words = _("%(job)s, makes room") % {"job": words}
        folded.append(RoomPart("", level, width, words, theirs[0].mark))
    return folded


@dataclass(frozen=True, slots=True)
class _RoomPainter:
    seen: SeenRoom
    leaving: Mapping[str, Mapping[str, Any]]
    plans: Sequence[Plan]

    def change(self, node: str) -> RoomChange:
        total, elsewhere = self.seen.nodes[node]
        resource = drawn_resource(total, self._moved(node))
        parts = list(self._there(node, resource))
        stay = _folded([part for part in parts if not part.mark], resource)
        if held := elsewhere.get(resource, 0):
            words = _("held elsewhere (%(n)s %(what)s)") % {"n": held, "what": resource}
            stay.append(RoomPart("", None, held, words, "elsewhere"))
        going = _folded([part for part in parts if part.mark], resource)
        whole = total.get(resource, 0)
        before, after = [*stay, *going], [*stay, *self._coming(node, resource)]
        return RoomChange(
            node,
            self._bar(_("before: %(what)s"), before, whole),
            self._bar(_("after: %(what)s"), after, whole),
        )

    def _moved(self, node: str) -> Iterator[Mapping[str, int]]:
        """What those hold who make room, and what those get who come."""
        yield from (
            job.alloc[node] for job in self.seen.jobs if node in job.alloc and job.job_id in self.leaving
        )
        yield from (plan.placement[node] for plan in self.plans if node in plan.placement)

    def _there(self, node: str, resource: str) -> Iterator[RoomPart]:
        for job in self.seen.jobs:
            width = job.alloc.get(node, {}).get(resource, 0)
            if not width:
                continue
            victim = self.leaving.get(job.job_id)
            goes = victim is not None and node in victim.get("nodes", (node,))
            words = l10n_format.part_of(
                l10n_format.with_aside(job.job_id, job.user), l10n_format.amounts({resource: width})
            )
            if goes:
                words = _("%(job)s, makes room") % {"job": words}
            yield RoomPart(job.job_id, job.level, width, words, "leaving" if goes else "")

    def _coming(self, node: str, resource: str) -> Iterator[RoomPart]:
        for plan in self.plans:
            width = plan.placement.get(node, {}).get(resource, 0)
            here = [task["job"] for task in plan.tasks if task.get("node") == node] or [plan.job_id]
            names = l10n_format.names(here)
            words = l10n_format.part_of(
                l10n_format.with_aside(names, plan.user), l10n_format.amounts({resource: width})
            )
            if width:
                yield RoomPart(here[0], self.seen.levels.get(plan.job_id), width, words, "coming")

    def _bar(self, words: str, parts: Iterable[RoomPart], whole: int) -> RoomBar:
        found: list[Segment] = []
        at, told = 0, []
        for part in parts:
            told.append(part.label)
            width = min(part.width, whole - at)
            if width > 0:
                found.append(self._block(part, at, width, whole))
                at += width
        what = pgettext("between things", "; ").join(told) or _("nobody")
        return RoomBar(found, l10n_format.set_in_type(words % {"what": what}))

    def _block(self, part: RoomPart, at: int, width: int, whole: int) -> Segment:
        names = self.seen.names
        name = names[part.level] if part.level is not None and part.level < len(names) else ""
        fits = width > LETTERED * whole and len(name) <= LONGEST_LETTERS and part.mark != "elsewhere"
        return Segment(
            at,
            share(at, whole),
            share(width, whole),
            part.level,
            part.label,
            job_id=part.job_id,
            letters=name if fits else "",
            middle=share(at + width / 2, whole),
            leaving=part.mark == "leaving",
            elsewhere=part.mark == "elsewhere",
        )
