"""One cycle of planning with each method on, and with all of them: the partitions of `bench.plan`'s third table.

10,000 running and 1,000 pending jobs on full nodes of 8 CPUs; two CPUs in a hundred are free, so that nodes differ.
What a method needs, a part of the jobs has: units, workers, predicted ends, compute power. The rest is as ever.
Requests come in ten sizes, five of CPUs with two of memory each; or in more, with more of memory.
"""

import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from scheduler.model.jobs import Elastic, JobState, Level, Request, SnapshotJob
from scheduler.model.nodes import SnapshotNode
from scheduler.model.policy import AppliesTo, Balance, Dispatch, Mode
from scheduler.model.snapshot import PartitionRules, Snapshot

NOW = 1_700_000_000
CPUS = 8
SHARE = {"cpu": 1, "mem": 4_000}
LEVELS: tuple[Level, ...] = (0, 1, 2, 3, None)
MANAGED = {"dispatch": Dispatch.MANAGED, "patience_s": 600}
PATIENT = {"dispatch": Dispatch.SLURM, "patience_s": 600}
EVEN = {"balance": Balance("cpu", 0.02, swap_below_s=3_600, applies_to=AppliesTo.ASKED)}


@dataclass(frozen=True, slots=True)
class Method:
    """A row of the table: which share of the running, and of the pending, jobs are of which kind, and the rules."""

    title: str
    running: dict[str, float] = field(default_factory=dict)
    pending: dict[str, float] = field(default_factory=dict)
    rules: dict[str, Any] = field(default_factory=dict)
    ends: bool = False


METHODS = (
    Method("stop and requeue"),
    Method("units", {"units": 0.1}, {"units": 0.1}),
    Method("elastic", {"elastic": 0.1}),
    Method("patience, Slurm places", rules=PATIENT, ends=True),
    Method("managed, with patience", rules=MANAGED, ends=True),
    Method("equal compute power", {"balanced": 0.1}, {"balanced": 0.1}, EVEN),
    Method(
        "everything",
        {"units": 0.1, "elastic": 0.1, "balanced": 0.1},
        {"units": 0.1, "balanced": 0.1},
        MANAGED | EVEN,
        ends=True,
    ),
)


SIZES = (10, 30, 300)
"""In how many sizes requests come; multiples of the five sizes of CPUs."""


def snapshot_for(method: Method, running: int, pending: int, seed: int, sizes: int = SIZES[0]) -> Snapshot:
    """The partition of a row; the same arguments always give the same one."""
    chance = random.Random(seed)
    kinds = [_kind(chance, method.running) for _ in range(running)]
    widths = [1 if kind == "plain" else chance.randint(2, 6) for kind in kinds]
    count = sum(widths) * 51 // (50 * CPUS) + 1
    nodes = tuple(
        SnapshotNode(
            f"n{i:04}",
            up=True,
            total={"cpu": CPUS, "mem": CPUS * 8_000},
            unit=f"s{i // 16}",
            power={"cpu": round(chance.uniform(0.9, 1.1), 3)},
            health=chance.choice((1.0, 1.0, 1.0, 0.8)),
        )
        for i in range(count)
    )
    slots = [node.name for node in nodes for _ in range(CPUS)]
    chance.shuffle(slots)
    jobs = [*_running(chance, method, kinds, widths, slots), *_pending(chance, method, pending, sizes)]
    return Snapshot(NOW, PartitionRules("bench", Mode.USER_THEN_TASK, **method.rules), nodes, tuple(jobs))


def devices(count: int, nodes: int = 1_250, seed: int = 1) -> Snapshot:
    """A free partition of nodes with eight GPUs, each with seconds of its own, and a job that wants an even set."""
    chance = random.Random(seed)
    every = tuple(
        SnapshotNode(
            f"n{i:04}",
            up=True,
            total={"gpu": 8},
            unit=f"s{i // 16}",
            power={"gpu": tuple(round(chance.gauss(10.0, 0.2), 4) for _ in range(8))},
        )
        for i in range(nodes)
    )
    request = Request(nodes=count, per_node={"gpu": 8})
    job = SnapshotJob("1", "even", JobState.PENDING, "ann", 0, None, NOW, request=request, balanced=True)
    rules = PartitionRules("bench", Mode.USER, balance=Balance("gpu", 2.0))
    return Snapshot(NOW, rules, every, (job,))


def _kind(chance: random.Random, shares: dict[str, float]) -> str:
    point = chance.random()
    for kind, share in shares.items():
        if point < share:
            return kind
        point -= share
    return "plain"


def _running(
    chance: random.Random, method: Method, kinds: list[str], sizes: list[int], slots: list[str]
) -> Iterator[SnapshotJob]:
    for i, (kind, size) in enumerate(zip(kinds, sizes, strict=True)):
        held = Counter(slots.pop() for _ in range(size))
        job = SnapshotJob(
            id=str(10_000 + i),
            name=f"train{i}",
            state=JobState.RUNNING,
            user=f"user{i % 97}",
            user_level=chance.choice(LEVELS[1:]),
            task_level=chance.choice(LEVELS),
            submit=NOW - 200_000 + chance.randrange(100_000),
            start=NOW - chance.randrange(60, 100_000),
            alloc={name: {r: n * count for r, n in SHARE.items()} for name, count in held.items()},
            predicted_end=NOW + chance.randrange(-600, 80_000) if method.ends and i % 10 else None,
        )
        if kind == "units":
            job = replace(job, unit=SHARE)
        elif kind == "elastic":
            job = replace(job, elastic=Elastic(min_nodes=1, wish_nodes=len(held), per_node=SHARE))
        yield replace(job, balanced=kind == "balanced")


def _pending(chance: random.Random, method: Method, count: int, sizes: int) -> Iterator[SnapshotJob]:
    for i in range(count):
        kind = _kind(chance, method.pending)
        yield SnapshotJob(
            id=str(1 + i),
            name="eval",
            state=JobState.PENDING,
            user=f"user{i % 97}",
            user_level=chance.choice(LEVELS),
            task_level=chance.choice(LEVELS),
            submit=NOW - chance.randrange(10_000),
            request=_request(chance, kind, sizes),
            balanced=kind == "balanced",
        )


def _request(chance: random.Random, kind: str, sizes: int) -> Request:
    cpu = chance.choice((1, 1, 2, 2, 4, 4, 6, 8))
    most = sizes // 5 - 1
    wants = {"cpu": cpu, "mem": cpu * chance.choice([2_000 + 2_000 * i // most for i in range(most + 1)])}
    if kind == "units":
        return Request(unit={"cpu": 1, "mem": wants["mem"] // cpu}, count=cpu * chance.choice((1, 4)))
    if kind == "balanced":
        return Request(nodes=chance.choice((2, 4)), per_node=wants)
    point = chance.random()
    if point < 0.8:
        return Request(nodes=1, per_node=wants)
    if point < 0.9:
        return Request(nodes=chance.choice((2, 4)), per_node=wants)
    return Request(spread=wants)
