"""How an exchange ends: whether somebody still has to start again, and where both run."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from datetime import timedelta
from decimal import Decimal
from typing import Any

from console.core import clock
from console.steering.models import STOP_KINDS, ActionState, Plan, PlannedAction, PlanState
from scheduler.model.actions import ActionKind
from scheduler.model.jobs import JobState, ObservedJob, RunKey
from scheduler.model.nodes import SnapshotNode, figures
from scheduler.model.observation import Observation
from scheduler.model.plan import How
from scheduler.model.policy import Balance, PartitionPolicy
from scheduler.model.resources import Amounts
from scheduler.model.sentence import Listed, Seconds, join, say

Jobs = Mapping[str, ObservedJob]


def is_awaited(plan: Plan, jobs: Jobs) -> bool:
    """Whether the job that was stopped for an exchange is still waited for to run again, until the plan's deadline: its
    set is kept for so long."""
    if not is_exchange(plan) or plan.undo_reason or not was_stopped(plan):
        return False
    job = jobs.get(runner_of(plan)["job"])
    late = plan.deadline is None or clock.now() > plan.deadline
    return job is not None and job.state is not JobState.RUNNING and not late


def where_they_run(plan: Plan, jobs: Jobs) -> str:
    """The words for where both run, and whether that is as planned. Who is not seen running is left out."""
    return join(*_words(plan, jobs))


def _words(plan: Plan, jobs: Jobs) -> Iterator[str]:
    job, runner = jobs.get(plan.job_id), jobs.get(runner_of(plan)["job"])
    if job is not None and job.state is JobState.RUNNING:
        yield _landed(job, plan.placement.keys())
    again = runner is not None and runner.state is JobState.RUNNING and runner.run != run_of_runner(plan)
    if runner is not None and again:
        yield _landed(runner, room_of_runner(plan).keys())


def _landed(job: ObservedJob, planned: Collection[str]) -> str:
    nodes = Listed(sorted(job.alloc))
    if set(job.alloc) == set(planned):
        return say("exchange.landed", job=job.id, nodes=nodes)
    return say("exchange.elsewhere", job=job.id, nodes=nodes, planned=Listed(sorted(planned)))


# Looking again before a running job is signalled or stopped to exchange a node: is it still young, and are both sets
# still even?


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


# The two node sets of a plan that exchanges a node, and what of them others have to reckon with.
#
# Such a plan has one victim, the running job: it gives up `nodes` for those that it `gets`, and is to have what `each`
# says. The plan's own placement is that of the job that waits. The two sets share no node.

UNDER_WAY = (ActionState.PLANNED, ActionState.EXECUTING, ActionState.ISSUED)


def is_exchange(plan: Plan) -> bool:
    """Whether a plan has a running job exchange a node."""
    return any(victim["how"] == How.SWAP for victim in plan.victims)


def under_way(plans: Iterable[Plan]) -> list[Plan]:
    """Those exchanges that are being carried out, and not undone."""
    return [
        plan
        for plan in plans
        if is_exchange(plan) and plan.state == PlanState.EXECUTING and not plan.undo_reason
    ]


def runner_of(plan: Plan) -> Mapping[str, Any]:
    """The running job of an exchange, as the plan keeps it."""
    (victim,) = plan.victims
    runner: Mapping[str, Any] = victim
    return runner


def run_of_runner(plan: Plan) -> RunKey:
    """The run that is stopped."""
    runner = runner_of(plan)
    return RunKey(runner["job"], runner["start"], runner["restarts"])


def room_of_runner(plan: Plan) -> dict[str, Amounts]:
    """What the running job is to have on each node of its new set; nothing where no node is exchanged."""
    return dict(runner_of(plan)["each"]) if is_exchange(plan) else {}


def gives_up(plan: Plan) -> dict[RunKey, frozenset[str]]:
    """Until it is stopped: the nodes that the run is about to give up."""
    return {run_of_runner(plan): frozenset(runner_of(plan)["nodes"])} if is_to_be_stopped(plan) else {}


def gets(plan: Plan) -> dict[str, Amounts]:
    """Until it is stopped: what it will have on the nodes that it does not run on yet."""
    each = room_of_runner(plan)
    return {node: each[node] for node in runner_of(plan)["gets"]} if is_to_be_stopped(plan) else {}


def comes_back(plan: Plan) -> dict[str, Mapping[str, Amounts]]:
    """Once it is stopped: its room, for the job that waits to run again."""
    return {runner_of(plan)["job"]: room_of_runner(plan)} if was_stopped(plan) else {}


def is_to_be_stopped(plan: Plan) -> bool:
    """Whether the stop is still to come, or not seen to have worked."""
    return any(a.kind in STOP_KINDS and a.state in UNDER_WAY for a in plan.actions.all())


def was_stopped(plan: Plan) -> bool:
    """Whether the running job was put back into the queue for the exchange."""
    return any(a.kind in STOP_KINDS and a.state == ActionState.VERIFIED for a in plan.actions.all())


# When the steps of an exchange are due.
#
# 1. Nothing is done to anybody before both node sets are seen to be kept: the one for the job that waits, which is in
# it,
#    and the one for the next run of the job that runs.
# 2. Who was stopped is let go on at once when it is seen to be in its set, and not when the other job runs. It is not
#    held: should nobody come any more, it starts by itself, two minutes later and wherever the cluster likes.
# 3. It waits for its set for a moment only; then it goes on without one.
# A node of either set that fails before both run is the end of the exchange.

DISTURBING = frozenset({ActionKind.PRIORITISE, ActionKind.SIGNAL, ActionKind.REQUEUE_HOLD, ActionKind.CANCEL})
JOINS_WITHIN = timedelta(seconds=15)
"""So long after its stop a job is waited for to be in its set."""
DELAYED = "begintime"
"""Slurm's reason for a job that waits out the delay between two runs: before it is said, that cannot be shortened."""


class Exchanges:
    """Those among some plans, as the cluster is seen now."""

    def __init__(self, plans: Iterable[Plan], observation: Observation) -> None:
        self._plans = [plan for plan in plans if is_exchange(plan)]
        self._ids = {plan.pk for plan in self._plans}
        self._kept = {kept.job_id: kept for kept in observation.kept} if self._plans else {}
        self._jobs = observation.jobs_by_id if self._plans else {}
        self._up = {node.name for node in observation.nodes if node.up} if self._plans else frozenset()

    def broken(self) -> Iterator[tuple[Plan, str]]:
        """The exchanges that have lost a node, each with the words for it."""
        for plan in self._plans:
            if plan.started_at or plan.undo_reason:
                continue
            lost = next((name for name in self._nodes(plan) if name not in self._up), None)
            if lost is not None:
                yield plan, say("again.node", node=lost)

    def lets(self, action: PlannedAction) -> bool:
        """Whether an action may be done now, as far as an exchange is concerned."""
        if action.plan_id not in self._ids or action.plan.undo_reason:
            return True
        if action.kind in DISTURBING:
            return self._are_kept(action.plan)
        return action.kind != ActionKind.RELEASE or self._goes_on(action)

    def _nodes(self, plan: Plan) -> list[str]:
        return sorted({*plan.placement, *room_of_runner(plan)})

    def _are_kept(self, plan: Plan) -> bool:
        theirs, its = self._kept.get(plan.job_id), self._kept.get(runner_of(plan)["job"])
        return (
            theirs is not None
            and its is not None
            and theirs.inside
            and set(theirs.nodes) == plan.placement.keys()
            and set(its.nodes) == room_of_runner(plan).keys()
        )

    def _goes_on(self, release: PlannedAction) -> bool:
        job = self._jobs.get(release.job_id)
        if job is None or job.state is not JobState.PENDING:
            return True
        kept = self._kept.get(job.id)
        ready = kept is not None and kept.inside and (job.held or job.slurm_reason.lower() == DELAYED)
        return ready or self._waited(release)

    def _waited(self, release: PlannedAction) -> bool:
        """Whether its stop was seen to have worked so long ago that nothing more is waited for."""
        stops = [a for a in release.plan.actions.all() if a.kind in STOP_KINDS and a.verified_at]
        now = clock.now()
        return any(
            stop.state == ActionState.VERIFIED and abs(now - stop.verified_at) >= JOINS_WITHIN
            for stop in stops
            if stop.verified_at
        )
