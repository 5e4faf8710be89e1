"""The two node sets of a plan that exchanges a node, and what of them others have to reckon with.

Such a plan has one victim, the running job: it gives up `nodes` for those that it `gets`, and is to have what `each`
says. The plan's own placement is that of the job that waits. The two sets share no node.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from console.steering.models import STOP_KINDS, ActionState, Plan, PlanState
from scheduler.model.jobs import RunKey
from scheduler.model.plan import How
from scheduler.model.resources import Amounts

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
