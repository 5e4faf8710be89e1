"""Plans that are being carried out, with their steps: what a partition's page shows of them."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from console.overview.openplans import OpenPlan
from console.steering.models import PlannedAction, PlanState

SHOWN_PLANS = 3
SHOWN_STEPS = 8
MOST_STEPS = 2000


@dataclass(frozen=True, slots=True)
class UnderWay:
    """A plan with its steps, those that are still to be done first when there are too many to show."""

    plan: OpenPlan
    steps: list[PlannedAction] = field(default_factory=list)
    more: int = 0


def under_way(plans: Iterable[OpenPlan]) -> tuple[list[UnderWay], int]:
    """The first plans that are under way, and how many more there are. One query when there is any."""
    going = [plan for plan in plans if plan.state != PlanState.PROPOSED]
    shown = going[:SHOWN_PLANS]
    if not shown:
        return [], 0
    rows = PlannedAction.objects.filter(plan__in=[plan.pk for plan in shown]).order_by("order", "id")
    steps: dict[int, list[PlannedAction]] = {}
    for step in rows[:MOST_STEPS]:
        steps.setdefault(step.plan_id, []).append(step)
    return [_shown(plan, steps.get(plan.pk, [])) for plan in shown], len(going) - len(shown)


def _shown(plan: OpenPlan, steps: list[PlannedAction]) -> UnderWay:
    if len(steps) <= SHOWN_STEPS:
        return UnderWay(plan, steps)
    open_first = sorted(steps, key=lambda step: step.verified_at is not None)
    chosen = {step.pk for step in open_first[:SHOWN_STEPS]}
    return UnderWay(plan, [step for step in steps if step.pk in chosen], len(steps) - SHOWN_STEPS)
