"""Looking again before a running job is signalled or stopped to exchange a node: is it still young, and are both sets
still even?"""

from collections.abc import Collection, Mapping
from decimal import Decimal

from console.core import clock
from console.steering.exchanging.sets import room_of_runner, run_of_runner, runner_of
from console.steering.models import Plan
from scheduler.model.actions import ActionKind
from scheduler.model.jobs import JobState, ObservedJob
from scheduler.model.nodes import SnapshotNode, figures
from scheduler.model.observation import Observation
from scheduler.model.policy import Balance, PartitionPolicy
from scheduler.model.sentence import Seconds, say


def why_not_exchanged(plan: Plan, observation: Observation, policy: PartitionPolicy) -> str:
    """Why the exchange must not be made any more, in words; empty when it may.

    A run that is over needs no stop. The time that it was given to save its state does not count as its age.
    """
    run, balance = run_of_runner(plan), policy.balance
    job = next((job for job in observation.jobs if job.id == run.job_id), None)
    if job is None or job.state is not JobState.RUNNING or job.run != run:
        return ""
    if balance is None or not balance.swap_below_s:
        return say("exchange.off", partition=plan.partition)
    if job.alloc.keys() != _its_nodes(plan):
        return say("exchange.other_nodes", job=job.id)
    ran = _age(plan, job, observation.taken_at)
    if ran >= balance.swap_below_s:
        return say("exchange.too_old", job=job.id, time=Seconds(ran), most=Seconds(balance.swap_below_s))
    nodes = {node.name: node for node in observation.nodes}
    for served, names in ((plan.job_id, plan.placement.keys()), (job.id, room_of_runner(plan).keys())):
        if not _are_even(names, nodes, balance):
            return say("exchange.uneven", job=served)
    return ""


def _its_nodes(plan: Plan) -> set[str]:
    runner = runner_of(plan)
    return (room_of_runner(plan).keys() - set(runner["gets"])) | set(runner["nodes"])


def _age(plan: Plan, job: ObservedJob, now: int) -> int:
    signals = [a.issued_at for a in plan.actions.all() if a.kind == ActionKind.SIGNAL and a.issued_at]
    asked = max(0, int((clock.now() - min(signals)).total_seconds())) if signals else 0
    return now - (job.start or now) - asked


def _are_even(names: Collection[str], nodes: Mapping[str, SnapshotNode], balance: Balance) -> bool:
    measured = [nodes[name].power for name in names if name in nodes]
    if len(measured) < len(names) or any(balance.resource not in power for power in measured):
        return False
    # As they are written: 1.05 and 1.00 are 0.05 apart.
    every = [Decimal(str(each)) for power in measured for each in figures(power[balance.resource])]
    return max(every) - min(every) <= Decimal(str(balance.max_distance))
