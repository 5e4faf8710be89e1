"""From an observation and the verdicts to the rows that pages read."""

from collections.abc import Iterable, Mapping, Sequence

from console.cluster.models import Cluster, Job
from console.steering.deciding import Verdicts
from console.steering.models import Plan, PlanState
from scheduler.contracts.snapshot import encode_request
from scheduler.model.jobs import Job as PlannedJob
from scheduler.model.jobs import JobState, ObservedJob, Request
from scheduler.model.observation import Observation
from scheduler.model.plan import Decision
from scheduler.model.resources import total
from scheduler.model.words import amounts

LONGEST_NAME = 1000


def rows(
    cluster: Cluster,
    observation: Observation,
    verdicts: Sequence[Verdicts],
    plans: Iterable[Plan],
    preemptions: Mapping[str, int],
) -> list[Job]:
    """A row for every job in every partition it is (or may come to be) in."""
    builders = {v.facts.row.name: _Builder(cluster, v, plans, preemptions) for v in verdicts}
    return [
        builders[partition].row(job)
        for job in observation.jobs
        for partition in job.partitions
        if partition in builders
    ]


class _Builder:
    """Makes the rows of one partition; everything is looked up once."""

    def __init__(
        self, cluster: Cluster, verdicts: Verdicts, plans: Iterable[Plan], preemptions: Mapping[str, int]
    ) -> None:
        self.cluster = cluster
        self.verdicts = verdicts
        self.preemptions = preemptions
        self.planned: dict[str, PlannedJob] = {job.id: job for job in verdicts.snapshot.jobs}
        self.decisions: dict[str, tuple[int, Decision]] = {
            decision.job: (place, decision) for place, decision in enumerate(verdicts.decisions, start=1)
        }
        self.plan_of: dict[str, int] = {}
        for plan in plans:
            if plan.partition == verdicts.facts.row.name:
                self.plan_of[plan.job_id] = plan.pk
                if plan.state == PlanState.EXECUTING:
                    self.plan_of.update((victim["job"], plan.pk) for victim in plan.victims)

    def row(self, job: ObservedJob) -> Job:
        """The job's row, not saved."""
        row = Job(
            cluster=self.cluster,
            job_id=job.id,
            partition=self.verdicts.facts.row.name,
            name=job.name[:LONGEST_NAME],
            user=job.user[:64],
            account=job.account[:64],
            comment=job.comment[:LONGEST_NAME],
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
            request=encode_request(job.request) if job.request else {},
            resources=_resources(job)[:200],
            preemptions=self.preemptions.get(job.id, 0),
            plan=self.plan_of.get(job.id),
        )
        self._add_levels(row)
        if job.state == JobState.PENDING:
            self._add_verdict(row)
        return row

    def _add_levels(self, row: Job) -> None:
        standing = self.verdicts.standings.get(row.job_id)
        planned = self.planned.get(row.job_id)
        if standing is None or planned is None:
            return
        policy = self.verdicts.facts.policy
        row.project = standing.project
        row.user_level, row.task_level = planned.user_level, planned.task_level
        row.user_level_name = policy.level_name(planned.user_level)
        row.task_level_name = policy.level_name(planned.task_level)
        row.user_origin = standing.user_origin[:300]
        row.task_origin = standing.task_origin[:300]
        row.protected = planned.protected[:200]

    def _add_verdict(self, row: Job) -> None:
        if row.job_id not in self.decisions:
            return
        row.place, decision = self.decisions[row.job_id]
        row.verdict, row.reason, row.explain = decision.action.value, decision.reason.value, decision.explain


def _resources(job: ObservedJob) -> str:
    if job.request is None or job.alloc:
        return amounts(total(job.alloc.values()))
    return request_words(job.request)


def request_words(request: Request) -> str:
    """`6 cpu on any nodes`, `2 nodes of 4 gpu, 8 cpu`, `4 gpu`."""
    if request.spread:
        return amounts(request.spread)
    per_node = amounts(request.per_node)
    return per_node if request.nodes == 1 else f"{request.nodes} nodes of {per_node}"
