"""The node sets that are kept while a node is exchanged: for the job that waits, and for the next run of the other.

Each is let go when its job runs there, when the exchange is given up, and when one of its nodes fails: then its job
starts wherever the cluster likes.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping

from console.steering.exchanging.sets import room_of_runner, run_of_runner, runner_of, under_way
from console.steering.keeping.wishes import Wish
from console.steering.models import Plan
from scheduler.model.jobs import JobState, ObservedJob
from scheduler.model.observation import Observation


def exchange_wishes(
    plans: Iterable[Plan], observation: Observation, holds: Callable[[str], bool]
) -> list[Wish]:
    """What is to be kept for exchanges. `holds`: whether a failure holds a partition."""
    going = [plan for plan in under_way(plans) if not holds(plan.partition)]
    if not going:
        return []
    jobs = observation.jobs_by_id
    up = {node.name for node in observation.nodes if node.up}
    return [
        wish for plan in going for wish in _of(plan, jobs, observation.taken_at) if up.issuperset(wish.nodes)
    ]


def _of(plan: Plan, jobs: Mapping[str, ObservedJob], now: int) -> Iterator[Wish]:
    job, runner = jobs.get(plan.job_id), jobs.get(runner_of(plan)["job"])
    if job is not None and job.state is JobState.PENDING:
        yield _wish(plan, job, plan.placement, now)
    if runner is None:
        return
    runs = runner.run == run_of_runner(plan) and runner.state is JobState.RUNNING
    completes = runner.state is JobState.COMPLETING
    if runs or completes or runner.state is JobState.PENDING:
        yield _wish(plan, runner, room_of_runner(plan), now, for_next=runs or completes)


def _wish(plan: Plan, job: ObservedJob, nodes: Collection[str], now: int, *, for_next: bool = False) -> Wish:
    return Wish(plan.partition, job, tuple(sorted(nodes)), now, for_next=for_next)
