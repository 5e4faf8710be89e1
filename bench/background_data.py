"""A large mirror that has been watched for a week, for `bench.background`: rows in bulk, and what changes in them."""

import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from heapq import heapify, heappop, heappush
from math import exp, log
from typing import Any

GPUS, CPUS = 8, 64
HABITS, OTHERS = 200, 96
MOSTLY = 0.6
"""So many of the jobs are one user's."""
LEVELS = 4
SHAPES = ((1, 1), (1, 2), (1, 4), (1, 8), (2, 8), (4, 8), (8, 8), (16, 8))
"""What waits: nodes, and GPUs on each."""
SIGMA = 1.0
CHUNK = 2_000
STARTS = 3_000
"""So many of the last starts were forecast."""


@dataclass(frozen=True, slots=True)
class Habit:
    """Jobs of one user that are alike."""

    user: str
    name: str
    level: int
    limit_s: int
    middle_s: float


@dataclass
class Mirror:
    """`running`: the true end, the row and its pk of each; `waiting`: by their turn."""

    cluster: Any
    now: float
    chance: random.Random
    habits: list[Habit]
    running: list[tuple[float, str]] = field(default_factory=list)
    rows: dict[str, Any] = field(default_factory=dict)
    waiting: list[str] = field(default_factory=list)
    next_id: int = 1_000_000

    def go_on(self, now: float) -> None:
        """One job has ended, one that waited runs in its place, and a new one waits."""
        from console.cluster.models import Cluster, Job, JobRun

        moment = datetime.fromtimestamp(now, UTC)
        _, old = heappop(self.running)
        ended, started = self.rows.pop(old), self.rows[self.waiting.pop(0)]
        Job.objects.filter(pk=ended.pk).update(phase="ended", ended_at=moment, place=0)
        JobRun.objects.filter(cluster=self.cluster, job_id=old).update(ended=int(now))
        started.phase, started.start, started.alloc, started.place = "running", int(now), ended.alloc, 0
        started.save()
        JobRun.objects.create(
            cluster=self.cluster, job_id=started.job_id, start=int(now), restarts=0, partition="x"
        )
        heappush(self.running, (now + self.runs_s(started), started.job_id))
        self._submit(self.new_job(now, place=len(self.waiting) + 1))
        seen = Cluster.objects.get(pk=self.cluster.pk)
        seen.version, seen.cycle, seen.observed_at = seen.version + 1, seen.cycle + 1, moment
        seen.save(update_fields=["version", "cycle", "observed_at"])

    def _submit(self, job: Any) -> None:
        job.save()
        self.rows[job.job_id] = job
        self.waiting.append(job.job_id)

    def runs_s(self, job: Any) -> float:
        """How long it runs, by chance."""
        habit = next(each for each in self.habits if (each.user, each.name) == (job.user, job.name))
        return min(habit.limit_s, self.chance.lognormvariate(log(habit.middle_s), SIGMA))

    def new_job(self, submit: float, *, place: int = 0, **fields: Any) -> Any:
        """A waiting job's row, not saved."""
        from console.cluster.models import Job

        habit, (nodes, gpus) = self.habit(), self.chance.choice(SHAPES)
        self.next_id += 1
        return Job(
            cluster=self.cluster, job_id=str(self.next_id), partition="x", name=habit.name, user=habit.user,
            account="lab", phase=fields.pop("phase", "pending"), slurm_state="PENDING", slurm_reason="Resources",
            submit=int(submit), first_submit=int(submit), waits_since=int(submit), time_limit_s=habit.limit_s,
            request={"nodes": nodes, "per_node": {"cpu": 8 * gpus, "gpu": gpus}}, resources=f"{gpus} gpu",
            user_level=habit.level, task_level=habit.level, verdict="queue", reason="no_victims", place=place,
            explain="", fingerprint=f"{self.next_id:032x}", **fields,
        )  # fmt: skip

    def habit(self) -> Habit:
        """The one of the next job: most are the first user's."""
        own = [self.habits[0 : HABITS // 4], self.habits[HABITS // 4 :]]
        return self.chance.choice(own[0] if self.chance.random() < MOSTLY else own[1])


def fill(running: int, waiting: int, changes: int, days: int, now: float) -> Mirror:
    """An empty, migrated database; Django must be set up."""
    from console.cluster.connect import configured_cluster
    from console.partitions.services import activate_policy, ensure_partition

    cluster, chance = configured_cluster(), random.Random(1)
    row = ensure_partition(cluster=cluster, name="x")
    levels = [{"name": f"P{rank}", "keyword": f"p{rank}"} for rank in range(LEVELS)]
    document = {"name": "x", "mode": "task", "levels": levels, "enforcement": "approve"}
    activate_policy(actor="bench", partition=row, document=document, reason="Measuring.", based_on=None)
    # So long a job runs on average where as many end as come.
    mean_s = 60 * running / max(1, changes)
    middle_s = mean_s * exp(-SIGMA * SIGMA / 2)
    habits = [
        Habit(
            "user0" if number < HABITS // 4 else f"user{1 + number % OTHERS}", f"train-{number}", number % LEVELS,
            int(20 * mean_s), middle_s * chance.lognormvariate(0, 0.3),
        )
        for number in range(HABITS)
    ]  # fmt: skip
    mirror = Mirror(cluster, now, chance, habits)
    _fill_running(mirror, running)
    _fill_waiting(mirror, waiting, changes)
    _fill_past(mirror, days * 1440 * changes, 60 / max(1, changes))
    cluster.observed_at = datetime.fromtimestamp(now, UTC)
    cluster.save(update_fields=["observed_at"])
    return mirror


def _fill_running(mirror: Mirror, running: int) -> None:
    from console.cluster.models import Job, JobRun, Node

    nodes = max(1, running // 4)
    free, jobs, runs = [GPUS] * nodes, [], []
    for number in range(running):
        node = number % nodes
        gpus = min(free[node], free[node] if number >= running - nodes else mirror.chance.choice((1, 2, 2)))
        free[node] -= gpus
        job = mirror.new_job(0, phase="running")
        # Who is seen running is so in proportion to how long it runs, somewhere in it.
        habit = next(each for each in mirror.habits if (each.user, each.name) == (job.user, job.name))
        whole = mirror.chance.lognormvariate(log(habit.middle_s) + SIGMA * SIGMA, SIGMA)
        ran = mirror.chance.random() * min(whole, habit.limit_s)
        job.start = int(mirror.now - ran)
        job.submit = job.first_submit = job.waits_since = job.start - mirror.chance.randint(10, 9_000)
        job.slurm_state, job.verdict, job.reason = "RUNNING", "", ""
        job.alloc = {f"n{node}": {"cpu": 8 * gpus, "gpu": gpus}}
        job.request = {"nodes": 1, "per_node": job.alloc[f"n{node}"]}
        jobs.append(job)
        runs.append(
            JobRun(cluster=mirror.cluster, job_id=job.job_id, start=job.start, restarts=0, partition="x")
        )
        mirror.running.append((job.start + min(whole, habit.limit_s), job.job_id))
    heapify(mirror.running)
    _save(Job, jobs)
    _save(JobRun, runs)
    mirror.rows |= {job.job_id: job for job in jobs}
    used = [{"cpu": 8 * (GPUS - left), "gpu": GPUS - left} for left in free]
    _save(Node, [
        Node(cluster=mirror.cluster, name=f"n{number}", up=True, state="ALLOCATED", total={"cpu": CPUS, "gpu": GPUS},
             used=each, partitions=["x"])
        for number, each in enumerate(used)
    ])  # fmt: skip


def _fill_waiting(mirror: Mirror, waiting: int, changes: int) -> None:
    from console.cluster.models import Job

    jobs = [
        mirror.new_job(mirror.now - 60 * (waiting - number) / max(1, changes), place=number + 1)
        for number in range(waiting)
    ]
    _save(Job, jobs)
    mirror.rows |= {job.job_id: job for job in jobs}
    mirror.waiting = [job.job_id for job in jobs]


def _fill_past(mirror: Mirror, count: int, apart_s: float) -> None:
    """Jobs that have ended, evenly, the oldest first, with what was forecast of their runs and starts."""
    from console.cluster.models import Job, JobRun
    from console.forecasts.models import JobForecast, KeptRun
    from console.starts.models import ExpectedStart

    jobs = [_ended(mirror, mirror.now - 60 - number * apart_s) for number in reversed(range(count))]
    _save(Job, jobs)
    seen = {"cluster": mirror.cluster, "restarts": 0, "partition": "x"}
    _save(JobRun, [JobRun(job_id=job.job_id, start=job.start, ended=_end(job), **seen) for job in jobs])
    told = {"account": "lab", "source": "cycles"}
    _save(KeptRun, [
        KeptRun(name=job.name, start=job.start, end=_end(job), **told, **_known(job), **_size(job)) for job in jobs
    ])  # fmt: skip
    _save(JobForecast, [_said(mirror, job) for job in jobs])
    _save(ExpectedStart, [
        ExpectedStart(
            cluster=job.cluster, job_id=job.job_id, submit=job.submit, partition="x", made_at=job.submit,
            first_at=job.submit, first_played=[600.0, 1800.0, 7200.0], started=job.start, gone_at=job.ended_at,
        )
        for job in jobs[-STARTS:]
    ])  # fmt: skip


def _ended(mirror: Mirror, end: float) -> Any:
    job = mirror.new_job(0, phase="ended")
    job.start = int(end - mirror.runs_s(job))
    job.submit = job.first_submit = job.start - mirror.chance.randint(10, 9_000)
    job.ended_at = datetime.fromtimestamp(end, UTC)
    job.alloc = {f"n{place}": job.request["per_node"] for place in range(job.request["nodes"])}
    return job


def _end(job: Any) -> int:
    return int(job.ended_at.timestamp())


def _known(job: Any) -> dict[str, Any]:
    return {
        "cluster": job.cluster, "job_id": job.job_id, "submit": job.submit, "partition": "x", "user": job.user,
        "limit_s": job.time_limit_s,
    }  # fmt: skip


def _size(job: Any) -> dict[str, int]:
    nodes, amounts = job.request["nodes"], job.request["per_node"]
    return {"nodes": nodes, "cpus": nodes * amounts["cpu"], "gpus": nodes * amounts["gpu"]}


def _said(mirror: Mirror, job: Any) -> Any:
    """What had been forecast was near the truth, as a rule."""
    from console.forecasts.models import JobForecast

    ran, end = _end(job) - job.start, _end(job)
    middle = ran * mirror.chance.lognormvariate(0, 0.8)
    return JobForecast(
        made_at=job.ended_at, start=job.start, ran_s=ran, ended_at=job.ended_at, end_p50=end, end_p80=end, renewed=end,
        inner=[middle * part / 4 for part in range(2, 9)], p10=middle / 4, p50=middle, p90=3 * middle, low=middle / 8,
        high=6 * middle, **_known(job), **_size(job),
    )  # fmt: skip


def _save(model: Any, rows: list[Any]) -> None:
    for part in _parts(rows):
        model.objects.bulk_create(part, batch_size=CHUNK)


def _parts(rows: list[Any]) -> Iterator[list[Any]]:
    for first in range(0, len(rows), CHUNK):
        yield rows[first : first + CHUNK]
