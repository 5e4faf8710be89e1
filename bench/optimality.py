"""How often a plan is the best there is, and how far off it is otherwise: `python -m bench.optimality`.

Small random partitions (the strategies of the property tests, with a seed), each planned by the real planner and by
trying everything (`tests/scheduler/oracle_*.py`). Costs are the documented ones, compared figure by figure. The
*gap* of a plan is how much of the first figure that differs the best one does without: 50 % is twice as much as was
needed, 100 % something that was not needed at all. Prints a Markdown table.
"""

import argparse
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from statistics import mean

from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis.strategies import SearchStrategy

from scheduler.model.jobs import JobState, Request, SnapshotJob
from scheduler.model.plan import Decision, DecisionKind
from scheduler.model.policy import VictimOrder
from scheduler.model.snapshot import Snapshot
from scheduler.preemption.planner import plan
from tests.scheduler import oracle_balance, oracle_reservation, oracle_units, oracle_victims
from tests.scheduler.pieces import ELASTIC_NODES, ELASTIC_UNITS, UNITS, WHOLE, in_pieces
from tests.scheduler.preemption.test_balance import balanced_partitions
from tests.scheduler.preemption.test_pieces_oracle import at_rest
from tests.scheduler.preemption.test_reservation import futures
from tests.scheduler.strategies import crowded

Figures = Sequence[int | Fraction]
Judged = tuple[Figures, Figures] | None
"""What the plan costs and what the best one does; None: the method had nothing to decide here."""

PREEMPT, SHRINK = DecisionKind.PREEMPT, DecisionKind.SHRINK
NOT_FOUND: Figures = (1,)
"""Against `(0,)`: there was a way, and the plan found none."""


@dataclass(frozen=True, slots=True)
class Method:
    """A row: partitions with one pending job, and what is measured on them."""

    title: str
    cost: str
    partitions: SearchStrategy[Snapshot]
    judge: Callable[[Snapshot, SnapshotJob, Decision], Judged]


def gap(made: Figures, best: Figures) -> float:
    """Of the first figure that differs, the part that the best one does without; below 0 the oracle is wrong."""
    for own, least in zip(made, best, strict=True):
        if own != least:
            return float(Fraction(own - least) / own) if own else -1.0
    return 0.0


def sampled(strategy: SearchStrategy[Snapshot], count: int, number: int) -> list[Snapshot]:
    """So many partitions; the same number gives the same ones."""
    found: list[Snapshot] = []

    @seed(number)
    @settings(
        max_examples=count,
        phases=[Phase.generate],
        database=None,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(strategy)
    def collect(snapshot: Snapshot) -> None:
        found.append(snapshot)

    collect()
    return found[:count]


def measured(method: Method, cases: int, number: int) -> list[float]:
    """The gap of each plan in which the method had something to decide."""
    gaps = []
    for snapshot in sampled(method.partitions, cases, number):
        state = replace(snapshot, jobs=at_rest(snapshot))
        job = next(each for each in state.jobs if each.state is JobState.PENDING)
        decision = next(each for each in plan(state).decisions if each.job == job.id)
        judged = method.judge(state, job, decision)
        if judged:
            gaps.append(gap(*judged))
    return gaps


def _stops(
    measure: oracle_victims.Measure, shape: Callable[[Request], bool], *, nodes: int
) -> Callable[..., Judged]:
    """Stops for requests of one shape; `nodes`: only in partitions of at most so many."""

    def judge(snapshot: Snapshot, job: SnapshotJob, decision: Decision) -> Judged:
        if len(snapshot.nodes) > nodes or job.request is None or not shape(job.request):
            return None
        best = oracle_victims.least(snapshot, job, measure)
        if best is None or not any(best):
            return None
        if decision.action is not PREEMPT:
            return NOT_FOUND, (0,)
        return measure(snapshot, job, (victim.job for victim in decision.victims)), best

    return judge


def _units(snapshot: Snapshot, job: SnapshotJob, decision: Decision) -> Judged:
    if decision.action is not PREEMPT:
        return None
    try:
        best = oracle_units.best_units(snapshot, job, decision.units or 0)
    except oracle_units.TooManyError:
        return None
    cost = oracle_units.units_cost(snapshot, job, decision)
    return None if best is None else ([n for part in cost for n in part], [n for part in best for n in part])


def _shrink(snapshot: Snapshot, job: SnapshotJob, decision: Decision) -> Judged:
    if decision.action not in {SHRINK, PREEMPT} or (job.request and job.request.exclusive):
        return None
    try:
        best = oracle_units.best_shrink(snapshot, job)
    except oracle_units.TooManyError:
        return None
    if best is None:
        return None
    return (
        (oracle_units.shrink_cost(snapshot, decision), best)
        if decision.action is SHRINK
        else (NOT_FOUND, (0,))
    )


def _even_set(snapshot: Snapshot, job: SnapshotJob, decision: Decision) -> Judged:
    best = oracle_balance.best_free_set(snapshot, job)
    if best is None or best.distance > oracle_balance.most(snapshot.partition):
        return None
    if decision.action is not DecisionKind.START:
        return NOT_FOUND, (0,)
    chosen = [node for node in snapshot.nodes if node.name in decision.nodes]
    apart = Fraction(oracle_balance.distance(chosen, "cpu"))
    units = {node.unit for node in chosen}
    outside = not (len(units) == 1 and units != {None})
    return (int(outside), apart), (int(best.not_in_a_unit), Fraction(best.distance))


def _even_stops(snapshot: Snapshot, job: SnapshotJob, decision: Decision) -> Judged:
    best = oracle_balance.cheapest_even_cost(snapshot, job)
    if not best or decision.action not in {PREEMPT, DecisionKind.QUEUE}:
        return None
    if decision.action is DecisionKind.QUEUE:
        return NOT_FOUND, (0,)
    stopped = {victim.job for victim in decision.victims}
    made = oracle_balance.cost_of(snapshot, job, [each for each in snapshot.jobs if each.id in stopped])
    classes = sorted({own for own, _, _ in (*made, *best)}, reverse=True)
    own, least = ({each: (seconds, count) for each, seconds, count in cost} for cost in (made, best))
    return (
        [n for each in classes for n in own.get(each, (0, 0))],
        [n for each in classes for n in least.get(each, (0, 0))],
    )


def _start(snapshot: Snapshot, job: SnapshotJob, decision: Decision) -> Judged:
    earliest = oracle_reservation.earliest_start(snapshot, job)
    patient = decision.at is not None or decision.action is DecisionKind.START
    if earliest is None or (not patient and earliest > snapshot.now + snapshot.partition.patience_s):
        return None
    if not patient:
        return NOT_FOUND, (0,)
    return ((decision.at or snapshot.now) - snapshot.now,), (earliest - snapshot.now,)


def _apart(snapshot: Snapshot) -> Snapshot:
    """No two jobs have run equally long, so that the order of victims has no ties."""
    jobs = [
        replace(job, start=job.start - i) if job.start is not None else job
        for i, job in enumerate(snapshot.jobs)
    ]
    rules = replace(snapshot.partition, victim_order=VictimOrder.SHORTEST_RUNTIME)
    return replace(snapshot, partition=rules, jobs=tuple(jobs))


PLAIN = crowded().map(_apart)
SPANNING = crowded(spanning=True).map(_apart)
IN_UNITS = in_pieces(most_pending=1, kinds=(WHOLE, UNITS, UNITS), shapes=("units",))
IN_WORKERS = in_pieces(most_pending=1, kinds=(WHOLE, ELASTIC_UNITS, ELASTIC_NODES, ELASTIC_NODES))
EVEN = balanced_partitions(most_pending=1, spanning=False)
IN_ORDER, HARM = oracle_victims.in_order, oracle_victims.harm


def _is_one(request: Request) -> bool:
    return request.nodes == 1


METHODS = (
    Method("stop, on a node", "the document's order", PLAIN, _stops(IN_ORDER, _is_one, nodes=1)),
    Method(
        "stop, counted anywhere",
        "the document's order",
        PLAIN,
        _stops(IN_ORDER, lambda r: bool(r.spread), nodes=9),
    ),
    Method("stop, on one of several nodes", "seconds lost", PLAIN, _stops(HARM, _is_one, nodes=9)),
    Method("stop, counted anywhere", "seconds lost", PLAIN, _stops(HARM, lambda r: bool(r.spread), nodes=9)),
    Method(
        "stop, on several nodes at once",
        "seconds lost",
        SPANNING,
        _stops(HARM, lambda r: r.nodes > 1, nodes=9),
    ),
    Method("units with give-back", "the most valuable lose least", IN_UNITS, _units),
    Method("elastic shrink", "workers, then their size", IN_WORKERS, _shrink),
    Method("even set, free", "unit, then distance", EVEN, _even_set),
    Method("even set, stops", "seconds lost", EVEN, _even_stops),
    Method("earliest start", "seconds until then", futures(most_pending=1, level=9), _start),
)


def table(cases: int, number: int) -> Iterator[str]:
    """The table, row by row."""
    yield "| method | cost | cases | the best | mean gap | worst gap |"
    yield "|---|---|--:|--:|--:|--:|"
    for method in METHODS:
        gaps = measured(method, cases, number)
        if not gaps:
            raise SystemExit(f"{method.title}: nothing to decide in {cases} cases; give more --cases")
        best = sum(each == 0 for each in gaps) / len(gaps)
        yield (
            f"| {method.title} | {method.cost} | {len(gaps):,} | {best:.1%} | {mean(gaps):.1%} | {max(gaps):.0%} |"
        )


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--cases", type=int, default=2_000, help="partitions per row; not all count")
    parser.add_argument("--seed", type=int, default=20_240_229)
    options = parser.parse_args()
    for line in table(options.cases, options.seed):
        print(line, flush=True)


if __name__ == "__main__":
    main()
