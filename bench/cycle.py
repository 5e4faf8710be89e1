"""How long a whole cycle takes without the cluster's own time: `python -m bench.cycle [--running N] [--pending N]`.

A real database (SQLite in a new folder, or DATABASE_URL), a cluster that answers at once from memory, one partition in
shadow. The first cycle writes the whole mirror; in each later one ten running jobs have ended, ten waiting ones have
started, and ten new ones wait. Prints the phases' medians, in seconds.
"""

import argparse
import os
import random
import statistics
import tempfile
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

from bench.plan import full_partition
from scheduler.model.actions import Action, ActionOutcome, OutcomeKind
from scheduler.model.endings import Ending
from scheduler.model.jobs import JobState, ObservedJob, Request, SnapshotJob
from scheduler.model.observation import ClusterInfo, Glance, Observation, ObservedPartition
from scheduler.ports import always

CHANGES = 10
LEVELS = [{"name": f"P{rank}", "keyword": f"p{rank}"} for rank in range(4)]
PHASES = ("observe", "verify", "decide", "record", "act")


@dataclass
class Memory:
    """A cluster that is only an observation; nobody can change it but `go_on`."""

    running: int
    pending: int
    seen: Observation = field(init=False)
    _next: int = field(default=10_000_000, init=False)
    _chance: random.Random = field(default_factory=lambda: random.Random(1), init=False)

    def __post_init__(self) -> None:
        nodes, jobs = full_partition(self.running)
        waiting = [self._waiting() for _ in range(self.pending)]
        self.seen = Observation(
            cluster="dev",
            taken_at=int(time.time()),
            nodes=tuple(replace(node, partitions=("x",), state="ALLOCATED") for node in nodes),
            partitions=(ObservedPartition("x", nodes=tuple(node.name for node in nodes)),),
            jobs=(*map(_observed, jobs), *waiting),
        )

    def go_on(self) -> None:
        """A second later some jobs have ended, others run in their place, and new ones wait."""
        jobs = list(self.seen.jobs)
        ended = self._chance.sample([i for i, job in enumerate(jobs) if len(job.alloc) == 1], CHANGES)
        waiting = [i for i, job in enumerate(jobs) if job.state is JobState.PENDING][:CHANGES]
        for old, new in zip(ended, waiting, strict=True):
            jobs[new] = replace(
                jobs[new],
                state=JobState.RUNNING,
                start=self.seen.taken_at,
                alloc=jobs[old].alloc,
                request=None,
            )
        kept = [job for i, job in enumerate(jobs) if i not in set(ended)]
        fresh = [self._waiting() for _ in range(CHANGES)]
        self.seen = replace(self.seen, taken_at=self.seen.taken_at + 1, jobs=(*kept, *fresh))

    def _waiting(self) -> ObservedJob:
        self._next += 1
        level, user = self._chance.randrange(5), self._chance.randrange(97)
        return ObservedJob(
            id=str(self._next),
            name=f"p{level}_train",
            user=f"user{user}",
            state=JobState.PENDING,
            partitions=("x",),
            submit=int(time.time()),
            slurm_reason="Resources",
            request=Request(nodes=1, per_node={"cpu": self._chance.choice((1, 2, 4, 8))}),
        )

    def describe(self) -> ClusterInfo:
        """Nothing to tell."""
        return ClusterInfo("dev", "memory")

    def observe(self, *, quick: bool = False) -> Observation:
        """What is there."""
        return self.seen

    def glance(self) -> Glance:
        """Whether somebody has come."""
        return Glance(self._next)

    def ended(self, job_ids: Collection[str]) -> Mapping[str, Ending]:
        """Nobody has ended."""
        return {}

    def apply(
        self, actions: Sequence[Action], may_act: Callable[[], bool] = always
    ) -> Sequence[ActionOutcome]:
        """In shadow there is nothing to do."""
        return [ActionOutcome(OutcomeKind.REFUSED, "only looked at") for _ in actions]


def _observed(job: SnapshotJob) -> ObservedJob:
    level = job.task_level if job.task_level is not None else 9
    return ObservedJob(
        id=job.id,
        name=f"p{level}_{job.name}",
        user=job.user,
        state=JobState.RUNNING,
        partitions=("x",),
        submit=job.submit,
        start=job.start,
        slurm_state="RUNNING",
        alloc=job.alloc,
    )


def measure(memory: Memory, rounds: int) -> tuple[dict[str, float], list[dict[str, float]]]:
    """Phases of the first cycle and of the later ones."""
    from console.cluster.connect import configured_cluster
    from console.partitions.services import activate_policy, ensure_partition
    from console.steering import cycle

    cluster = configured_cluster()
    row = ensure_partition(cluster=cluster, name="x")
    document = {"name": "x", "mode": "task", "levels": LEVELS}
    activate_policy(actor="bench", partition=row, document=document, reason="Measuring.", based_on=None)
    setattr(cycle, "connect", lambda _row: memory)  # noqa: B010 - mypy knows no module's name as a variable
    taken = []
    for _ in range(rounds + 1):
        begin = time.perf_counter()
        report = cycle.run_cycle(cluster)
        if report is None or report.fault:
            raise RuntimeError(f"the cycle did not run: {report}")
        taken.append({**report.phases, "all": time.perf_counter() - begin})
        memory.go_on()
    return taken[0], taken[1:]


def main() -> None:
    """Print a table in Markdown."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--running", type=int, default=10_000)
    parser.add_argument("--pending", type=int, default=1_000)
    parser.add_argument("--rounds", type=int, default=9)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="giveway-bench-") as home:
        os.environ |= {
            "GIVEWAY_HOME": home,
            "DJANGO_SETTINGS_MODULE": "console.settings.local",
            "LOG_LEVEL": "WARNING",
        }
        import django

        django.setup()
        from django.core.management import call_command

        call_command("migrate", verbosity=0)
        first, later = measure(Memory(args.running, args.pending), args.rounds)
    columns = (*PHASES, "all")
    print(f"| {args.running:,} running, {args.pending:,} pending | {' | '.join(columns)} |")
    print("|---|" + "--:|" * len(columns))
    print(f"| first cycle, s | {' | '.join(f'{first[name]:.2f}' for name in columns)} |")
    middle = {name: statistics.median(each[name] for each in later) for name in columns}
    print(
        f"| later cycles, median of {len(later)}, s | {' | '.join(f'{middle[name]:.2f}' for name in columns)} |"
    )


if __name__ == "__main__":
    main()
