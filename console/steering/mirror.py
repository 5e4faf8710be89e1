"""From an observation and the verdicts to the rows that pages read.

Most jobs are the same as a second ago, so each row is first only marked: what it would show, as a short text. Rows are
made for the jobs whose mark has changed. Durations in an explanation grow by themselves and do not count as a change.
"""

import hashlib
from base64 import urlsafe_b64encode
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from console.cluster.models import LONGEST_GROUP, Cluster, Job
from console.cluster.services import MARK, VERDICT_FIELDS, JobRow
from console.steering.deciding import STARTABLE, Verdicts
from console.steering.lines import Lines, PartitionLine
from console.steering.models import Plan, PlanKind, PlanState
from console.steering.served import jobs_served
from scheduler.contracts.requests import encode_request
from scheduler.model.jobs import JobState, ObservedJob, Request, SnapshotJob
from scheduler.model.jobs import SnapshotJob as PlannedJob
from scheduler.model.observation import Observation
from scheduler.model.plan import Decision, DecisionKind
from scheduler.model.resources import total
from scheduler.model.sentence import facts_of
from scheduler.model.words import amounts
from scheduler.priority.derive import JobStanding
from scheduler.priority.groups import group_of
from scheduler.priority.line import PlaceInLine
from scheduler.reconcile.blocking import why_protected_anyway
from scheduler.reconcile.immunity import Immunity, immunity, not_requeued

# --- The marks of the mirror's rows: what a row would show, as two short texts, kept for the next look ---


class Marked(NamedTuple):
    """What a row was marked from, and its mark: the job, as planned, what is derived of it, what is decided."""

    job: ObservedJob
    planned: SnapshotJob | None
    derived: tuple[Any, ...]
    decided: tuple[Any, ...]
    mark: str


@dataclass(slots=True)
class Marks:
    """The marks of the rows of the last look, so that only what has changed is put into words again."""

    before: dict[tuple[str, str], Marked] = field(default_factory=dict)
    now: dict[tuple[str, str], Marked] = field(default_factory=dict)

    def begin(self) -> None:
        """A new look: rows that are not asked for in it are forgotten with the next."""
        self.before, self.now = self.now, {}


_MARKS: dict[int, Marks] = defaultdict(Marks)
"""By cluster. A mark depends on nothing but the row, so it is right whoever asks."""


def marks_of(cluster_key: int) -> Marks:
    """Those of one cluster, to be read and added to."""
    return _MARKS[cluster_key]


def marked(
    known: Marked | None,
    job: ObservedJob,
    planned: SnapshotJob | None,
    derived: tuple[Any, ...],
    decided: tuple[Any, ...],
) -> Marked:
    """A row's mark; what is the same as in the one that is known is not digested again."""
    if known is not None and known.derived == derived and (known.job is job or known.job == job):
        seen = known.mark[:MARK]
    else:
        seen = _digest((job, *derived))
    verdict = known.mark[MARK:] if known is not None and known.decided == decided else _digest(decided)
    return Marked(job, planned, derived, decided, seen + verdict)


def _digest(facts: tuple[Any, ...]) -> str:
    digest = hashlib.blake2b(repr(facts).encode(), digest_size=MARK * 3 // 4, usedforsecurity=False)
    return urlsafe_b64encode(digest.digest()).decode("ascii")


LONGEST_NAME = 1000
_NO_PLACE = (0, 0, None)
_PENDING, _RUNNING, _START = JobState.PENDING, JobState.RUNNING, DecisionKind.START
"""Python looks a member of an enumeration up anew each time; these are asked for of every job."""


class JobCounts(NamedTuple):
    """`stops`: how often each job was stopped by us. `startable`: in how many cycles in a row there was room for jobs,
    by job and partition, before this one."""

    stops: Mapping[str, int]
    startable: Mapping[tuple[str, str], int]


def rows(
    cluster: Cluster,
    observation: Observation,
    verdicts: Sequence[Verdicts],
    plans: Iterable[Plan],
    counts: JobCounts,
    lines: Lines,
) -> list[JobRow]:
    """A row for every job in every partition it is (or may come to be) in."""
    marks_of(cluster.pk).begin()
    sources = {
        v.facts.row.name: _Source(cluster, v, plans, counts, lines.by_partition.get(v.facts.row.name))
        for v in verdicts
    }
    return [
        _Row(
            key := (job.id, partition),
            source.mark(key, job),
            source.places(job) if job.state is _PENDING else _NO_PLACE,
            job,
            source,
        )
        for job in observation.jobs
        for partition in job.partitions
        if (source := sources.get(partition)) is not None
    ]


def past_rows(
    cluster: Cluster, verdicts: Verdicts, preemptions: Mapping[str, int], jobs: Iterable[ObservedJob]
) -> list[Job]:
    """Rows, not saved, of jobs that ran in a partition once, as they were seen then; nothing is decided about them."""
    source = _Source(cluster, verdicts, (), JobCounts(preemptions, {}), None)
    return [source.row(job) for job in jobs]


class _Row(NamedTuple):
    """One job in one partition, for `write_jobs`."""

    key: tuple[str, str]
    mark: str
    places: tuple[int, int, int | None]
    job: ObservedJob
    source: "_Source"

    @property
    def verdict(self) -> tuple[Any, ...]:
        return self.source.verdict(self.job)

    def build(self) -> Job:
        return self.source.row(self.job)


class _Source:
    """Makes the rows of one partition; everything is looked up once."""

    def __init__(
        self,
        cluster: Cluster,
        verdicts: Verdicts,
        plans: Iterable[Plan],
        counts: JobCounts,
        line: PartitionLine | None,
    ) -> None:
        self.line = line
        self.startable = counts.startable
        self.cluster = cluster
        marks = marks_of(cluster.pk)
        self._marked_before, self._marked_now = marks.before, marks.now
        self.partition = verdicts.facts.row.name
        self.policy = verdicts.facts.policy
        self.names = [level.name for level in self.policy.levels]
        self.standings = verdicts.standings
        self.planned = verdicts.jobs
        self.preemptions = counts.stops
        self.now = verdicts.snapshot.now
        self.decisions: dict[str, tuple[int, Decision]] = {
            decision.job: (place, decision) for place, decision in enumerate(verdicts.decisions, start=1)
        }
        self.plan_of: dict[str, int] = {}
        # A plan that makes room says more of a job than the one that holds it until then.
        for plan in sorted(plans, key=lambda plan: plan.kind != PlanKind.WHOLE):
            if plan.partition == self.partition:
                self.plan_of.update(dict.fromkeys(jobs_served(plan), plan.pk))
                if plan.state == PlanState.EXECUTING:
                    self.plan_of.update((victim["job"], plan.pk) for victim in plan.victims)

    def mark(self, key: tuple[str, str], job: ObservedJob) -> str:
        """Digests of the job with what is derived of it, and of what is decided about it.

        A planned job is the same object as before only where nothing has changed that it rests on (`KnownJobs`).
        """
        known, planned = self._marked_before.get(key), self.planned.get(job.id)
        decided = self.decided(job) if job.state is _PENDING else (self.plan_of.get(job.id),)
        is_same = known is not None and known.planned is planned is not None
        if known is None or not is_same or known.decided != decided:
            derived = known.derived if known is not None and is_same else self.derived(job)
            known = marked(known, job, planned, derived, decided)
        self._marked_now[key] = known
        return known.mark

    def derived(self, job: ObservedJob) -> tuple[Any, ...]:
        """Everything in the row that is neither observed nor decided, but for its places."""
        planned = self.planned.get(job.id)
        return (
            self.standings.get(job.id),
            planned and (planned.user_level, planned.task_level, planned.protected),
            self.immune(job),
            self.names,
            self.preemptions.get(job.id, 0),
        )

    def decided(self, job: ObservedJob) -> tuple[Any, ...]:
        """Everything that is decided about one that waits. Durations in an explanation grow by themselves: they do not
        count."""
        _, decision = self.decisions.get(job.id, (0, None))
        stands = self._stands(job)
        return (
            self.plan_of.get(job.id),
            decision and (decision.action, decision.reason, facts_of(decision.explain)),
            stands and (self.line is not None and self.line.is_ordered, stands.keeps),
            self._startable(job),
        )

    def verdict(self, job: ObservedJob) -> tuple[Any, ...]:
        """The row's `VERDICT_FIELDS`."""
        said: tuple[Any, ...] = ("", "", "", 0)
        if self._is_decided(job):
            decision = self.decisions[job.id][1]
            startable = self._startable(job)
            said = decision.action.value, decision.reason.value, decision.explain, startable
        stands, line = self._stands(job), self.line
        place = (False, False) if stands is None or line is None else (line.is_ordered, stands.keeps)
        return *said, self.plan_of.get(job.id), *place

    def places(self, job: ObservedJob) -> tuple[int, int, int | None]:
        """Its place among the decisions and in Slurm's line, and the priority that Slurm would give it."""
        if job.state is not _PENDING:
            return _NO_PLACE
        stands, is_decided = self._stands(job), self._is_decided(job)
        place = self.decisions[job.id][0] if is_decided else 0
        return (place, 0, None) if stands is None else (place, stands.number, stands.own)

    def _is_decided(self, job: ObservedJob) -> bool:
        return job.state is _PENDING and job.id in self.decisions

    def _stands(self, job: ObservedJob) -> PlaceInLine | None:
        return self.line.shown.get(job.id) if self.line is not None and not job.held else None

    def _startable(self, job: ObservedJob) -> int:
        decision = self.decisions.get(job.id)
        if decision is None or decision[1].action is not _START:
            return 0
        return min(self.startable.get((job.id, self.partition), 0) + 1, STARTABLE)

    def immune(self, job: ObservedJob) -> Immunity | None:
        """Why the job is immune, where nothing else protects it."""
        if job.state is not _RUNNING or not_requeued(job) is None:
            return None
        other = why_protected_anyway(job, self.policy, self.preemptions.get(job.id, 0))
        return None if other else immunity(job, self.policy, self.now)

    def row(self, job: ObservedJob) -> Job:
        """The job's row, not saved."""
        standing, planned = self.standings.get(job.id), self.planned.get(job.id)
        row = Job(
            cluster=self.cluster,
            job_id=job.id,
            partition=self.partition,
            name=job.name[:LONGEST_NAME],
            user=job.user[:64],
            account=job.account[:64],
            comment=job.comment[:LONGEST_NAME],
            group=group_of(job, standing.pattern if standing else None)[:LONGEST_GROUP],
            phase=job.state.value,
            slurm_state=job.slurm_state[:40],
            slurm_reason=job.slurm_reason[:200],
            held=job.held,
            priority=job.priority,
            submit=job.submit,
            start=job.start or 0,
            restarts=job.restarts,
            time_limit_s=job.time_limit_s,
            estimated_start=job.estimated_start,
            alloc={node: dict(taken) for node, taken in sorted(job.alloc.items())},
            on_node=next(iter(job.alloc)) if len(job.alloc) == 1 else "",
            request=encode_request(job.request) if job.request else {},
            resources=_resources(job)[:200],
            preemptions=self.preemptions.get(job.id, 0),
            was_requeueable=job.requeue or job.was_requeueable,
        )
        why = self.immune(job)
        if why is not None:
            row.immune, row.immune_since = why.value, job.no_requeue_since
        if standing is not None and planned is not None:
            self._add_levels(row, standing, planned)
        row.place, row.line_place, row.own_priority = self.places(job)
        for name, value in zip(VERDICT_FIELDS, self.verdict(job), strict=True):
            setattr(row, name, value)
        return row

    def _add_levels(self, row: Job, standing: JobStanding, planned: PlannedJob) -> None:
        row.project = standing.project
        row.user_level, row.task_level = planned.user_level, planned.task_level
        row.user_level_name = self.policy.level_name(planned.user_level)
        row.task_level_name = self.policy.level_name(planned.task_level)
        row.user_origin = standing.user_origin
        row.task_origin = standing.task_origin
        row.protected = planned.protected


def _resources(job: ObservedJob) -> str:
    if job.request is None or job.alloc:
        return amounts(total(job.alloc.values()))
    return request_words(job.request)


def request_words(request: Request) -> str:
    """`6 cpu`, `4 gpu, 8 cpu`, `2 nodes of 4 gpu, 8 cpu`."""
    if request.spread:
        return amounts(request.spread)
    per_node = amounts(request.per_node)
    return per_node if request.nodes == 1 else f"{request.nodes} nodes of {per_node}"
