"""The cheapest victims by trying every set of running jobs, with no code of the planner's (for small cases).

Two costs, compared as tuples, the smaller the better:
- `in_order` (the document's, on one node and for what is counted anywhere): for each job that may be stopped, the most
  valuable first, whether it is. So the most valuable victim is as low as possible, then the next one.
- `harm` (of several nodes): by class, the highest first, the seconds of running time lost and the number of victims.

Only for `shortest_runtime`, and jobs that have run for different times.
"""

from collections.abc import Callable, Iterable

from scheduler.model.jobs import SnapshotJob
from scheduler.model.snapshot import Snapshot
from tests.scheduler import naive

Cost = tuple[int, ...]
Measure = Callable[[Snapshot, SnapshotJob, Iterable[str]], Cost]


def in_order(snapshot: Snapshot, job: SnapshotJob, stopped: Iterable[str]) -> Cost:
    """Who of all that may be stopped is, the most valuable first."""
    gone = set(stopped)
    return tuple(int(victim.id in gone) for victim in _by_value(snapshot, job))


def harm(snapshot: Snapshot, job: SnapshotJob, stopped: Iterable[str]) -> Cost:
    """Seconds lost and jobs stopped of each class that anybody is in, the highest first."""
    gone, by_class = set(stopped), dict[tuple[int, int], list[int]]()
    for victim in _by_value(snapshot, job):
        mine = by_class.setdefault(naive.class_of(snapshot.partition, job, victim), [0, 0])
        if victim.id in gone:
            mine[0] += naive.ran(snapshot, victim)
            mine[1] += 1
    return tuple(n for each in sorted(by_class, reverse=True) for n in by_class[each])


def least(snapshot: Snapshot, job: SnapshotJob, measure: Measure) -> Cost | None:
    """The least cost at which a job fits; None when stopping everybody that it may stop does not help."""
    sets = naive.sets_that_help(naive.World(snapshot), job)
    return min((measure(snapshot, job, (victim.id for victim in each)) for each in sets), default=None)


def _by_value(snapshot: Snapshot, job: SnapshotJob) -> list[SnapshotJob]:
    return sorted(
        naive.stoppable(snapshot, job),
        key=lambda victim: (
            naive.class_of(snapshot.partition, job, victim),
            naive.ran(snapshot, victim),
        ),
        reverse=True,
    )
