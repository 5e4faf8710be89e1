"""How long planning takes and how much memory it needs, as the partition grows: `python -m bench.plan`.

Prints three Markdown tables: one urgent job over ever more running jobs, one cycle of 10,000 running and
1,000 pending jobs, and such a cycle with each planning method on (`bench.plan_methods`), with ten sizes of request and
with more. Times are medians (of
processor time) of several plans of the same snapshot in one process, another one for each figure; what counts is how
they grow, so in the first table each is also given as a ratio to the row above. Memory is what Python allocates at
most while planning.
"""

import argparse
import gc
import multiprocessing
import random
import statistics
import time
import tracemalloc
from collections import Counter, deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from bench.plan_methods import METHODS, SIZES, devices, snapshot_for
from scheduler.model.jobs import JobState, Level, Request, SnapshotJob
from scheduler.model.nodes import SnapshotNode
from scheduler.model.plan import DecisionKind, PlanningResult
from scheduler.model.policy import Mode
from scheduler.model.snapshot import PartitionRules, Snapshot
from scheduler.preemption.planner import plan

NOW = 1_700_000_000
CPUS = 8
TWO_NODES = 20
LEVELS: tuple[Level, ...] = (0, 1, 2, 3, None)
SEED = 20_240_229
TABLES = ("growth", "cycle", "methods", "devices")


@dataclass(frozen=True, slots=True)
class Figures:
    """What one snapshot took: seconds (median), bytes (peak), and what was decided."""

    seconds: float
    peak: int
    made: PlanningResult


def full_partition(running: int, seed: int = SEED) -> tuple[list[SnapshotNode], list[SnapshotJob]]:
    """So many running jobs on nodes of 8 CPUs that they fill; levels and ages at random.

    One CPU each; every 20th job has one more on another node.
    """
    chance = random.Random(seed)
    needed = running + len(range(0, running, TWO_NODES))
    names = [f"n{i // CPUS}" for i in range(needed)]
    nodes = [
        SnapshotNode(name, up=True, total={"cpu": n, "mem": 64_000}) for name, n in Counter(names).items()
    ]
    slots = deque(names)
    share = {"cpu": 1, "mem": 4_000}
    jobs = [
        SnapshotJob(
            id=str(1000 + i),
            name=f"train{i}",
            state=JobState.RUNNING,
            user=f"user{i % 97}",
            user_level=chance.choice(LEVELS[1:]),
            task_level=chance.choice(LEVELS),
            submit=NOW - 200_000,
            start=NOW - chance.randrange(60, 100_000),
            alloc={slots.popleft(): share} | ({slots.pop(): share} if i % TWO_NODES == 0 else {}),
        )
        for i in range(running)
    ]
    return nodes, jobs


def urgent(
    job_id: str, request: Request, user_level: Level = 0, task_level: Level = 0, waited: int = 0
) -> SnapshotJob:
    """A pending job."""
    return SnapshotJob(
        id=job_id,
        name="eval",
        state=JobState.PENDING,
        user="urgent",
        user_level=user_level,
        task_level=task_level,
        submit=NOW - waited,
        request=request,
    )


def one_urgent_job(running: int, request: Request) -> Snapshot:
    """A full partition and one job at the top of it."""
    nodes, jobs = full_partition(running)
    return _snapshot(nodes, [*jobs, urgent("1", request)])


def whole_cycle(running: int = 10_000, pending: int = 1_000, seed: int = SEED) -> Snapshot:
    """A full partition with a long queue of all levels and shapes: most are for one node, some for
    several."""
    chance = random.Random(seed + 1)
    nodes, jobs = full_partition(running, seed)
    for i in range(pending):
        cpu = chance.choice((1, 1, 2, 2, 4, 4, 6, 8))
        wants = {"cpu": cpu, "mem": cpu * chance.choice((2_000, 4_000))}
        kind = chance.random()
        if kind < 0.8:
            request = Request(nodes=1, per_node=wants)
        elif kind < 0.9:
            request = Request(nodes=chance.choice((2, 4)), per_node=wants)
        else:
            request = Request(spread=wants)
        levels = chance.choice(LEVELS), chance.choice(LEVELS)
        jobs.append(urgent(str(1 + i), request, *levels, waited=chance.randrange(10_000)))
    return _snapshot(nodes, jobs)


def _snapshot(nodes: list[SnapshotNode], jobs: list[SnapshotJob]) -> Snapshot:
    rules = PartitionRules(name="bench", mode=Mode.USER_THEN_TASK)
    return Snapshot(NOW, rules, tuple(nodes), tuple(jobs))


def measure(snapshot: Snapshot, rounds: int) -> Figures:
    """What planning takes, in a process of its own: after memory has been traced, the next plans would be slower."""
    context = multiprocessing.get_context("fork")
    figures, answer = context.Pipe(duplex=False)
    child = context.Process(target=lambda: answer.send(_measured(snapshot, rounds)))
    child.start()
    answer.close()
    found: Figures = figures.recv()
    child.join()
    return found


def _measured(snapshot: Snapshot, rounds: int) -> Figures:
    """Plan several times for the time, once more for the memory."""
    times = []
    made = plan(snapshot)
    for _ in range(rounds):
        gc.collect()
        before = time.process_time()
        plan(snapshot)
        times.append(time.process_time() - before)
    tracemalloc.start()
    plan(snapshot)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return Figures(statistics.median(times), peak, made)


def growth_table(sizes: list[int], rounds: int) -> Iterator[str]:
    """The first table: one urgent job for one node, for four nodes, for CPUs anywhere."""
    shapes: dict[str, Callable[[], Request]] = {
        "6 CPUs on one node": lambda: Request(nodes=1, per_node={"cpu": 6, "mem": 24_000}),
        "8 CPUs on each of 4 nodes": lambda: Request(nodes=4, per_node={"cpu": 8, "mem": 32_000}),
        "64 CPUs anywhere": lambda: Request(spread={"cpu": 64, "mem": 256_000}),
    }
    yield "| request | running jobs | nodes | time | ratio | peak memory | victims |"
    yield "|---|--:|--:|--:|--:|--:|--:|"
    for title, request in shapes.items():
        before: float | None = None
        for size in sizes:
            snapshot = one_urgent_job(size, request())
            figures = measure(snapshot, rounds)
            ratio = f"× {figures.seconds / before:.1f}" if before else ""
            victims = len(figures.made.decisions[0].victims)
            yield (
                f"| {title} | {size:,} | {len(snapshot.nodes):,} | {figures.seconds * 1000:.1f} ms | {ratio} "
                f"| {figures.peak / 1e6:.1f} MB | {victims} |"
            )
            before = figures.seconds


def cycle_table(rounds: int) -> Iterator[str]:
    """The second table: one whole cycle."""
    snapshot = whole_cycle()
    figures = measure(snapshot, rounds)
    counts = {kind: sum(d.action is kind for d in figures.made.decisions) for kind in DecisionKind}
    yield "| running | pending | nodes | time | peak memory | start | preempt | queue |"
    yield "|--:|--:|--:|--:|--:|--:|--:|--:|"
    yield (
        f"| 10,000 | 1,000 | {len(snapshot.nodes):,} | {figures.seconds:.2f} s | {figures.peak / 1e6:.0f} MB "
        f"| {counts[DecisionKind.START]} | {counts[DecisionKind.PREEMPT]} | {counts[DecisionKind.QUEUE]} |"
    )


def methods_table(rounds: int) -> Iterator[str]:
    """The third table: one whole cycle with each method, and the same with more sizes of request."""
    yield "| methods | nodes | time | peak memory | decisions |"
    yield "|---|--:|--:|--:|---|"
    for method in METHODS:
        few: float | None = None
        for sizes in SIZES:
            snapshot = snapshot_for(method, running=10_000, pending=1_000, seed=SEED, sizes=sizes)
            figures = measure(snapshot, rounds)
            counts = Counter(decision.action.value for decision in figures.made.decisions)
            said = ", ".join(f"{count} {kind}" for kind, count in counts.most_common())
            title = method.title if few is None else f"{method.title}, {sizes} sizes of request"
            ratio = f" (× {figures.seconds / few:.1f})" if few else ""
            few = few or figures.seconds
            yield (
                f"| {title} | {len(snapshot.nodes):,} | {figures.seconds:.2f} s{ratio} "
                f"| {figures.peak / 1e6:.0f} MB | {said} |"
            )


def devices_table(rounds: int) -> Iterator[str]:
    """The fourth table: one even set among 10,000 processors of which each has a figure of its own."""
    yield "| even set of | processors | time | peak memory | differ by |"
    yield "|---|--:|--:|--:|--:|"
    for count in (2, 16, 128):
        snapshot = devices(count)
        figures = measure(snapshot, rounds)
        said = figures.made.decisions[0].explain.partition("differ by ")[2].partition(" ")[0]
        yield (
            f"| {count} nodes with 8 GPUs each | {8 * len(snapshot.nodes):,} | {figures.seconds * 1000:.1f} ms "
            f"| {figures.peak / 1e6:.1f} MB | {said} |"
        )


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--rounds", type=int, default=5, help="plans per figure (the median counts)")
    parser.add_argument("--sizes", type=int, nargs="+", default=[100, 1_000, 10_000, 50_000])
    parser.add_argument("--only", choices=TABLES, nargs="+", default=list(TABLES), help="which tables")
    options = parser.parse_args()
    tables = {
        "growth": lambda: growth_table(options.sizes, options.rounds),
        "cycle": lambda: cycle_table(options.rounds),
        "methods": lambda: methods_table(options.rounds),
        "devices": lambda: devices_table(options.rounds),
    }
    for name in options.only:
        for line in tables[name]():
            print(line, flush=True)
        print()


if __name__ == "__main__":
    main()
