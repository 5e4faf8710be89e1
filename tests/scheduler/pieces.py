"""A second, simple idea of jobs that lose pieces: what is held where, and what a decision does to that.

Shares no code with the planner. Like `naive`, it works everything out again at every question.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from hypothesis import strategies as st

from scheduler.model.jobs import Elastic, JobState, Request, SnapshotJob
from scheduler.model.nodes import SnapshotNode
from scheduler.model.plan import Decision, DecisionKind, How
from scheduler.model.policy import GiveBack, Mode, Partial
from scheduler.model.snapshot import PartitionRules, Snapshot
from tests.builders import HOUR, NOW
from tests.scheduler import naive

Holdings = dict[str, dict[str, dict[str, int]]]
"""By job, by node: what it holds."""


@dataclass
class World:
    """What everybody holds, as far as a plan has got."""

    snapshot: Snapshot
    held: Holdings = field(default_factory=dict)
    rooms: list[Mapping[str, Mapping[str, int]]] = field(default_factory=list)

    @classmethod
    def of(cls, snapshot: Snapshot) -> "World":
        running = [job for job in snapshot.jobs if job.state is JobState.RUNNING]
        held = {job.id: {node: dict(part) for node, part in job.alloc.items()} for job in running}
        return cls(snapshot, held)

    def copy(self) -> "World":
        held = {job: {node: dict(part) for node, part in parts.items()} for job, parts in self.held.items()}
        return World(self.snapshot, held, list(self.rooms))

    def job(self, job_id: str) -> SnapshotJob:
        return next(job for job in self.snapshot.jobs if job.id == job_id)

    def free(self, node: SnapshotNode) -> dict[str, int]:
        have = dict(node.total)
        for part in [*(held.get(node.name, {}) for held in self.held.values()), *self._set_aside(node)]:
            for name, amount in part.items():
                have[name] = have.get(name, 0) - amount
        return have

    def _set_aside(self, node: SnapshotNode) -> list[Mapping[str, int]]:
        return [room[node.name] for room in self.rooms if node.name in room]

    def units(self, job_id: str) -> int:
        """How many units a job holds."""
        unit = self.job(job_id).unit
        return sum(whole(part, unit) for part in self.held[job_id].values())

    def fits(self, request: Request, units: int | None = None) -> bool:
        """Whether a request fits (`units`: that many of its units)."""
        places = [node for node in self.snapshot.nodes if node.up and naive.suits(request, node)]
        rooms = [self.free(node) for node in places]
        if request.count:
            return sum(whole(room, request.unit) for room in rooms) >= (units or request.count)
        if request.nodes:
            return sum(naive.holds(room, request.per_node) for room in rooms) >= request.nodes
        return all(
            sum(max(0, room.get(name, 0)) for room in rooms) >= n for name, n in request.spread.items()
        )

    def give(self, job_id: str, node: str, amounts: Mapping[str, int], sign: int) -> None:
        """A job gets amounts on a node (1) or loses them (-1)."""
        part = self.held[job_id].setdefault(node, {})
        for name, amount in amounts.items():
            part[name] = part.get(name, 0) + sign * amount
            assert part[name] >= 0, f"{job_id} loses more {name} than it has on {node}"
        if not any(part.values()):
            del self.held[job_id][node]

    def apply(self, decision: Decision) -> None:
        for victim in decision.victims:
            if victim.how is How.UNITS:
                assert sum(count for _, count in victim.on) == victim.units > 0
                for node, count in victim.on:
                    unit = self.job(victim.job).unit
                    self.give(victim.job, node, {name: n * count for name, n in unit.items()}, -1)
            elif victim.how is How.NODES:
                for node in victim.nodes:
                    self.give(victim.job, node, dict(self.held[victim.job][node]), -1)
            else:
                assert self.held[victim.job]
                self.held[victim.job] = {}
        if decision.action is DecisionKind.GROW:
            for node, part in decision.placement.items():
                self.give(decision.job, node, part, 1)
        elif decision.placement:
            self.rooms.append(decision.placement)


def whole(amounts: Mapping[str, int], unit: Mapping[str, int]) -> int:
    """How many whole units some amounts hold."""
    return max(0, min(amounts.get(name, 0) // n for name, n in unit.items() if n))


levels = st.one_of(st.none(), st.integers(0, 4))
units = st.sampled_from([{"cpu": 1}, {"cpu": 2}, {"cpu": 3}, {"cpu": 1, "mem": 2}, {"cpu": 2, "mem": 1}])


WHOLE, UNITS, ELASTIC_UNITS, ELASTIC_NODES = "whole", "units", "elastic units", "elastic nodes"
EVERY_KIND = (WHOLE, UNITS, UNITS, ELASTIC_UNITS, ELASTIC_NODES, ELASTIC_NODES)


@st.composite
def _running(
    draw: st.DrawFn, job_id: str, left: Mapping[str, dict[str, int]], kinds: Sequence[str]
) -> SnapshotJob | None:
    kind = draw(st.sampled_from(kinds))
    names = draw(st.lists(st.sampled_from(sorted(left)), min_size=1, max_size=3, unique=True))
    alloc: dict[str, dict[str, int]] = {}
    unit = draw(units) if "units" in kind else {}
    for name in names:
        part = unit or {"cpu": draw(st.integers(1, 3))}
        most = whole(left[name], part)
        count = min(most, draw(st.integers(1, 4))) if unit else min(most, 1)
        if count:
            alloc[name] = {resource: n * count for resource, n in part.items()}
    if not alloc:
        return None
    fields: dict[str, Any] = {"unit": unit}
    if kind == ELASTIC_UNITS:
        held = sum(whole(part, unit) for part in alloc.values())
        wish = draw(st.sampled_from([None, held, held + 2]))
        fields["elastic"] = Elastic(min_units=draw(st.integers(1, held)), wish_units=wish)
    elif kind == ELASTIC_NODES:
        wish = draw(st.sampled_from([None, len(alloc), len(alloc) + 1]))
        fields["elastic"] = Elastic(min_nodes=draw(st.integers(1, len(alloc))), wish_nodes=wish)
    ran = draw(st.sampled_from([60, 600, HOUR, HOUR, 9 * HOUR]))
    return SnapshotJob(
        id=job_id,
        name="r",
        state=JobState.RUNNING,
        user=draw(st.sampled_from(["ann", "bob"])),
        user_level=draw(levels),
        task_level=draw(levels),
        submit=NOW - 10 * HOUR + draw(st.integers(0, 3)),
        start=NOW - ran,
        alloc=alloc,
        preemptable=draw(st.integers(0, 9)) > 0,
        **fields,
    )


@st.composite
def _request(draw: st.DrawFn, places: int, shapes: Sequence[str]) -> Request:
    kind = draw(st.sampled_from(shapes))
    cpu = draw(st.integers(1, 6))
    if kind == "units":
        return Request(unit=draw(units), count=draw(st.integers(1, 9)), partial=draw(st.booleans()))
    if kind == "spread":
        return Request(spread={"cpu": cpu + 2})
    count = 1 if kind == "one" else draw(st.integers(1, places))
    return Request(nodes=count, per_node={"cpu": cpu}, exclusive=draw(st.integers(0, 9)) == 0)


@st.composite
def in_pieces(
    draw: st.DrawFn,
    /,
    most_pending: int = 3,
    kinds: Sequence[str] = EVERY_KIND,
    shapes: Sequence[str] = ("units", "units", "one", "several", "spread"),
    **fixed: Any,
) -> Snapshot:
    """A small crowded partition. `kinds` of running jobs, `shapes` of requests; `fixed`: rules."""
    places = [
        SnapshotNode(
            f"n{i}", up=True, total={"cpu": draw(st.integers(3, 8)), "mem": draw(st.integers(4, 12))}
        )
        for i in range(1, draw(st.integers(1, 3)) + 1)
    ]
    left = {place.name: dict(place.total) for place in places}
    jobs = []
    for i in range(draw(st.integers(1, 6))):
        job = draw(_running(str(100 + i), left, kinds))
        if job is not None:
            jobs.append(job)
            for name, part in job.alloc.items():
                for resource, amount in part.items():
                    left[name][resource] -= amount
    for i in range(draw(st.integers(1, most_pending))):
        jobs.append(
            SnapshotJob(
                id=str(200 + i),
                name="p",
                state=JobState.PENDING,
                user="carol",
                user_level=draw(st.sampled_from([0, 0, 1, 2])),
                task_level=draw(st.sampled_from([0, 0, 1, 2])),
                submit=NOW - draw(st.integers(0, 100)),
                request=draw(_request(len(places), shapes)),
            )
        )
    rules: dict[str, Any] = {
        "mode": draw(st.sampled_from(list(Mode))),
        "bands": draw(st.sampled_from([None, None, ((0, 1), (2, 3, 4, None))])),
        "partial": draw(st.sampled_from(list(Partial))),
        "give_back": draw(st.sampled_from(list(GiveBack))),
    }
    partition = PartitionRules(name="x", **{**rules, **fixed})
    return Snapshot(now=NOW, partition=partition, nodes=tuple(places), jobs=tuple(jobs))
