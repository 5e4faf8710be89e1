"""When the steps of an exchange are due.

1. Nothing is done to anybody before both node sets are seen to be kept: the one for the job that waits, which is in it,
   and the one for the next run of the job that runs.
2. Who was stopped is let go on at once when it is seen to be in its set, and not when the other job runs. It is not
   held: should nobody come any more, it starts by itself, two minutes later and wherever the cluster likes.
3. It waits for its set for a moment only; then it goes on without one.
A node of either set that fails before both run is the end of the exchange.
"""

from collections.abc import Iterable, Iterator
from datetime import timedelta

from console.core import clock
from console.steering.exchanging.sets import is_exchange, room_of_runner, runner_of
from console.steering.models import STOP_KINDS, ActionState, Plan, PlannedAction
from scheduler.model.actions import ActionKind
from scheduler.model.jobs import JobState
from scheduler.model.observation import Observation
from scheduler.model.sentence import say

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
