"""Small random partitions for Hypothesis: few nodes and jobs, so that every set of victims can be tried."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from hypothesis import strategies as st

from scheduler.model.jobs import JobState, Request, SnapshotJob
from scheduler.model.nodes import SnapshotNode
from scheduler.model.policy import Mode, OverQuota, VictimOrder
from scheduler.model.snapshot import PartitionRules, Snapshot
from tests.builders import HOUR, NOW

FEATURES = ("big", "fast")
levels = st.one_of(st.none(), st.integers(0, 3))
runtimes = st.sampled_from([0, 60, 600, HOUR, 2 * HOUR, 2 * HOUR, 9 * HOUR])

_past: st.SearchStrategy[dict[str, Any]] = st.one_of(
    st.just({}),
    st.just({}),
    st.fixed_dictionaries(
        {
            "restarts": st.integers(1, 2),
            "ran_s": st.sampled_from([0, 30, HOUR]),
            "rested": st.booleans(),
            "stopped": st.integers(0, 2),
        }
    ),
)
"""What a job has behind it that was stopped before; most were not."""


@st.composite
def nodes(draw: st.DrawFn, *, simple: bool = False) -> list[SnapshotNode]:
    """One to four nodes: CPUs, sometimes GPUs of one or two types, features; most of them up."""
    result = []
    for i in range(1, draw(st.integers(1, 4)) + 1):
        total = {"cpu": draw(st.integers(1, 6))}
        a100, h100 = (draw(st.sampled_from([0, 0, 2, 3])) for _ in range(2))
        if a100 + h100 and not simple:
            total |= {"gpu": a100 + h100}
            total |= {name: n for name, n in (("gpu:a100", a100), ("gpu:h100", h100)) if n}
        result.append(
            SnapshotNode(
                name=f"n{i}",
                up=simple or draw(st.sampled_from([True, True, True, False])),
                total=total,
                features=frozenset() if simple else draw(st.frozensets(st.sampled_from(FEATURES))),
                held_elsewhere={"cpu": 1} if not simple and draw(st.integers(0, 9)) == 0 else {},
                coming_elsewhere={"cpu": 1} if not simple and draw(st.integers(0, 9)) == 0 else {},
            )
        )
    return result


@st.composite
def _alloc(draw: st.DrawFn, places: Sequence[SnapshotNode], *, spanning: bool) -> dict[str, dict[str, int]]:
    """What a running job holds: a share of one node, or of several."""
    most = len(places) if spanning and draw(st.booleans()) else 1
    chosen = draw(
        st.lists(st.sampled_from(places), min_size=1, max_size=most, unique_by=lambda node: node.name)
    )
    result: dict[str, dict[str, int]] = {}
    for node in chosen:
        part = {"cpu": draw(st.integers(1, max(1, node.total["cpu"] // 2)))}
        typed = [name for name in node.total if ":" in name]
        with_gpu: bool = draw(st.booleans())
        if typed and with_gpu:
            part |= {"gpu": 1, draw(st.sampled_from(typed)): 1}
        result[node.name] = part
    return result


@st.composite
def requests(draw: st.DrawFn, places: Sequence[SnapshotNode], *, simple: bool = False) -> Request:
    """Any shape of request, mostly one that could be met."""
    amounts = {"cpu": draw(st.integers(1, 6))}
    if not simple and draw(st.integers(0, 3)) == 0:
        amounts |= draw(
            st.sampled_from([{"gpu": 1}, {"gpu": 2}, {"gpu": 1, "gpu:a100": 1}, {"gpu": 2, "gpu:h100": 2}])
        )
    limits: dict[str, Any] = {}
    if not simple:
        names = st.sampled_from([node.name for node in places])
        limits = {
            "features": draw(st.sampled_from([frozenset(), frozenset(), frozenset({"big"})])),
            "any_of": draw(st.sampled_from([(), (), (), (frozenset({"big"}), frozenset({"fast"}))])),
            "only_nodes": draw(st.one_of(st.just(frozenset()), st.frozensets(names, max_size=2))),
            "not_nodes": draw(st.one_of(st.just(frozenset()), st.frozensets(names, max_size=1))),
        }
    shape = draw(st.sampled_from(["one", "one", "several", "spread"]))
    exclusive = not simple and draw(st.integers(0, 7)) == 0
    if shape == "spread":
        return Request(spread=amounts, exclusive=exclusive, **limits)
    count = 1 if shape == "one" else draw(st.integers(1, 3))
    return Request(nodes=count, per_node=amounts, exclusive=exclusive, **limits)


@st.composite
def running_jobs(
    draw: st.DrawFn, places: Sequence[SnapshotNode], *, simple: bool, most: int = 7
) -> list[SnapshotJob]:
    """Running and ending jobs that fit onto the nodes (a little overcommitment happens)."""
    free = {node.name: dict(node.total) for node in places}
    jobs = []
    for i in range(draw(st.integers(0, most))):
        alloc = draw(_alloc(places, spanning=not simple))
        fits = all(free[name].get(r, 0) >= n for name, part in alloc.items() for r, n in part.items())
        if not fits and (simple or draw(st.integers(0, 9))):
            continue
        for name, part in alloc.items():
            for resource, amount in part.items():
                free[name][resource] = free[name].get(resource, 0) - amount
        ending = not simple and draw(st.integers(0, 7)) == 0
        jobs.append(
            SnapshotJob(
                id=str(100 + i),
                name=f"r{i}",
                state=JobState.COMPLETING if ending else JobState.RUNNING,
                user=draw(st.sampled_from(["ann", "bob", "carol"])),
                user_level=draw(levels),
                task_level=draw(levels),
                submit=NOW - 10 * HOUR,
                start=NOW - draw(runtimes),
                alloc=alloc,
                preemptable=simple or draw(st.integers(0, 7)) > 0,
                **draw(_past),
            )
        )
    return jobs


@st.composite
def pending_jobs(
    draw: st.DrawFn, places: Sequence[SnapshotNode], *, simple: bool, most: int = 3
) -> list[SnapshotJob]:
    """One or more pending jobs, a few of them blocked."""
    return [
        SnapshotJob(
            id=str(200 + i),
            name=f"p{i}",
            state=JobState.PENDING,
            user=draw(st.sampled_from(["ann", "bob", "carol"])),
            user_level=draw(levels),
            task_level=draw(levels),
            submit=NOW - draw(st.integers(0, 100)),
            request=draw(requests(places, simple=simple)),
            blocked="" if simple or draw(st.integers(0, 9)) else "it is held by its user",
        )
        for i in range(draw(st.integers(1, most)))
    ]


bands = st.sampled_from([None, None, ((0,), (1, 2), (3, None)), ((0, 1), (2, 3, None))])


_limits: st.SearchStrategy[dict[int, dict[str, int]]] = st.one_of(
    st.just({}),
    st.dictionaries(
        st.integers(0, 3),
        st.dictionaries(st.sampled_from(["cpu", "gpu", "gpu:a100"]), st.integers(0, 6), max_size=2),
        max_size=2,
    ),
)


@st.composite
def rules(draw: st.DrawFn, *, quotas: bool = False, simple: bool = False) -> PartitionRules:
    """Any mode, with everything that the rules can say."""
    mode = draw(st.sampled_from(list(Mode)))
    # With a cool-down stopped jobs have nobody stopped for them anyway, so that no plan is made twice (`chains`).
    rests: dict[str, Any] = draw(
        st.sampled_from([{}, {"rest_s": 300, "cool_down_s": 300}, {"max_stops_per_job_hour": 1}])
    )
    return PartitionRules(
        name="x",
        mode=mode,
        victim_order=draw(st.sampled_from(list(VictimOrder))),
        bands=None if simple else draw(bands),
        exempt_s=0 if simple else draw(st.sampled_from([0, 0, 300])),
        quotas=draw(st.dictionaries(st.integers(0, 3), st.integers(0, 2), max_size=3)) if quotas else {},
        over_quota=draw(st.sampled_from(list(OverQuota))),
        quota_amounts=draw(_limits) if quotas else {},
        quota_totals=draw(_limits) if quotas else {},
        **rests,
    )


@st.composite
def snapshots(
    draw: st.DrawFn, *, simple: bool = False, quotas: bool = False, most_pending: int = 3
) -> Snapshot:
    """A whole partition. `simple`: one resource, all up, nothing protected or ending, no job on two nodes."""
    places = draw(nodes(simple=simple))
    return Snapshot(
        now=NOW,
        partition=draw(rules(quotas=quotas, simple=simple)),
        nodes=tuple(places),
        jobs=(
            *draw(running_jobs(places, simple=simple)),
            *draw(pending_jobs(places, simple=simple, most=most_pending)),
        ),
    )


@st.composite
def crowded(draw: st.DrawFn, *, spanning: bool = False, most_pending: int = 1) -> Snapshot:
    """A full partition of one resource, and urgent jobs: most of them need victims.

    `spanning`: a running job may hold two nodes, and pending ones may ask for several.
    """
    places = [
        SnapshotNode(f"n{i}", True, {"cpu": draw(st.integers(3, 6))})
        for i in range(1, draw(st.integers(1, 3)) + 1)
    ]
    left = {place.name: place.total["cpu"] for place in places}
    jobs: list[SnapshotJob] = []
    # Half of the time all users, or all tasks, are equal: then the second tier decides.
    flat = draw(st.sampled_from(["", "", "user", "task"]))
    while any(left.values()) and len(jobs) < 9:
        name = draw(st.sampled_from([place.name for place in places if left[place.name]]))
        size = min(draw(st.integers(1, 3)), left[name])
        alloc = {name: {"cpu": size}}
        if spanning and draw(st.booleans()):
            alloc |= {
                other: {"cpu": min(size, left[other])}
                for other in left
                if left[other] and draw(st.booleans())
            }
        for each, part in alloc.items():
            left[each] -= part["cpu"]
        jobs.append(
            SnapshotJob(
                id=str(100 + len(jobs)),
                name="r",
                state=JobState.RUNNING,
                user=draw(st.sampled_from(["ann", "bob"])),
                user_level=draw(st.sampled_from([1, 2, 3, None])),
                task_level=draw(st.sampled_from([1, 2, 3, None])),
                submit=NOW - 10 * HOUR,
                start=NOW - draw(runtimes),
                alloc=alloc,
                **draw(_past),
            )
        )
    for i in range(draw(st.integers(1, most_pending))):
        cpu = draw(st.integers(1, 5))
        several = Request(nodes=draw(st.integers(1, len(places))), per_node={"cpu": cpu})
        one_or_any = draw(
            st.sampled_from([Request(nodes=1, per_node={"cpu": cpu}), Request(spread={"cpu": cpu})])
        )
        jobs.append(
            SnapshotJob(
                id=str(200 + i),
                name="p",
                state=JobState.PENDING,
                user="carol",
                user_level=draw(st.sampled_from([0, 0, 1, 2])),
                task_level=draw(st.sampled_from([0, 0, 1, 2])),
                submit=NOW - draw(st.integers(0, 100)),
                request=several if spanning and draw(st.booleans()) else one_or_any,
            )
        )
    if flat == "user":
        jobs = [replace(job, user_level=1) for job in jobs]
    elif flat == "task":
        jobs = [replace(job, task_level=1) for job in jobs]
    return Snapshot(now=NOW, partition=draw(rules(simple=True)), nodes=tuple(places), jobs=tuple(jobs))


partitions = st.one_of(snapshots(), crowded(spanning=True, most_pending=3))
"""Any partition without quotas."""
with_quotas = st.one_of(snapshots(quotas=True), crowded(spanning=True, most_pending=3))
"""Any partition."""
