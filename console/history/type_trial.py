"""A library of task types held against the jobs of the last week, before it is saved: which jobs each row fits."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import timedelta

from console.cluster.models import Cluster
from console.core import clock
from console.forecasts.models import KeptRun
from scheduler.model.task_types import TaskType
from scheduler.priority.task_types import TaskTypes

WEEK = timedelta(days=7)
MOST_RUNS = 100_000
"""The last ones; more would take longer than a request may."""
SHOWN_NAMES = 3


@dataclass(slots=True)
class TypeTrial:
    """What one row would have met. `longer`: jobs that ran longer than its time. `other_gpus`: jobs that had another
    number of GPUs on each node than it names."""

    type: TaskType
    jobs: int = 0
    users: set[str] = field(default_factory=set)
    longer: int = 0
    other_gpus: int = 0
    by_name: Counter[str] = field(default_factory=Counter)

    @property
    def names(self) -> str:
        """The most frequent names."""
        return ", ".join(name for name, _ in self.by_name.most_common(SHOWN_NAMES))

    def count(self, run: "_Run") -> None:
        """One more job that it fits."""
        self.jobs += 1
        self.users.add(run.user)
        self.by_name[run.name] += 1
        self.longer += self.type.time_s is not None and run.end - run.start > self.type.time_s
        self.other_gpus += self.type.gpus is not None and run.gpus != self.type.gpus * max(run.nodes, 1)


@dataclass(frozen=True, slots=True)
class LibraryTrial:
    """A whole library. `jobs`: all that were looked at; `unfitted`: those that no row fits; `cut`: there were more."""

    rows: list[TypeTrial]
    jobs: int
    unfitted: int
    cut: bool


@dataclass(frozen=True, slots=True)
class _Run:
    name: str
    user: str
    start: int
    end: int
    nodes: int
    gpus: int


def tried_on_last_week(cluster: Cluster, partition: str, types: Sequence[TaskType]) -> LibraryTrial:
    """The types held against what has ended in the partition within seven days; one query."""
    since = int((clock.now() - WEEK).timestamp())
    kept = KeptRun.objects.filter(cluster=cluster, partition=partition, end__gte=since).order_by("-end")
    values = kept.values_list("name", "user", "start", "end", "nodes", "gpus")[: MOST_RUNS + 1]
    runs = [_Run(*row) for row in values]
    cut = len(runs) > MOST_RUNS
    trials: dict[str, TypeTrial] = {}
    for kind in types:
        trials.setdefault(kind.pattern, TypeTrial(kind))
    library, unfitted = TaskTypes(tuple(types)), 0
    fitting: dict[str, TaskType | None] = {}
    for run in runs[:MOST_RUNS]:
        if run.name not in fitting:
            fitting[run.name] = library.of(run.name)
        fits = fitting[run.name]
        if fits is None:
            unfitted += 1
        else:
            trials[fits.pattern].count(run)
    return LibraryTrial(list(trials.values()), min(len(runs), MOST_RUNS), unfitted, cut)
