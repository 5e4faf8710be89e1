"""The plans of some partitions that are not over, as cards and pages tell of them, and the steps of those under way.

There may be hundreds that are only proposed, of which a page says how many there are: so this is no model, and whom a
plan stops is understood of those only of which a page says it.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import starmap
from typing import Any, NamedTuple

from django.db.models import OuterRef, Subquery, TextField
from django.db.models.functions import Cast

from console.cluster.models import Cluster
from console.core.sentence_field import with_sentences
from console.steering.models import OPEN_STATES, STOP_KINDS, ActionState, Plan, PlannedAction, PlanState
from console.steering.sentences import shortly


class OpenPlan(NamedTuple):
    """A plan. `next_stop`: when the grace of its next victim ends; `told_tasks`, `stops` and `places` are JSON."""

    pk: int
    partition: str
    kind: str
    state: str
    enforcement: str
    job_id: str
    job_restarts: int
    job_name: str
    user: str
    told_tasks: str
    deadline: datetime | None
    not_now: str
    next_stop: datetime | None
    stops: str
    places: str

    @property
    def tasks(self) -> Sequence[Mapping[str, Any]]:
        """The tasks of an array that it makes room for together."""
        found: list[dict[str, Any]] = json.loads(self.told_tasks)
        return found

    @property
    def victims(self) -> list[dict[str, Any]]:
        """Whom it stops, and who gives something up for it."""
        found: list[dict[str, Any]] = with_sentences(json.loads(self.stops))
        return found

    @property
    def making_room(self) -> str:
        """How many make room, and in which ways."""
        return shortly(self.victims)

    @property
    def placement(self) -> dict[str, Any]:
        """Where it makes room."""
        found: dict[str, Any] = json.loads(self.places)
        return found

    @property
    def state_words(self) -> str:
        """Its state as people say it."""
        return str(dict(PlanState.choices).get(self.state, self.state))


_JSON = {"told_tasks": "tasks", "stops": "victims", "places": "placement"}
_FIELDS = tuple(Cast(_JSON[name], TextField()) if name in _JSON else name for name in OpenPlan._fields)


def open_plans_of(cluster: Cluster, names: Sequence[str]) -> list[OpenPlan]:
    """The latest first; one query."""
    rows = Plan.objects.filter(cluster=cluster, partition__in=names, state__in=OPEN_STATES)
    return list(starmap(OpenPlan, rows.annotate(next_stop=_next_stop()).values_list(*_FIELDS)))


def _next_stop() -> Subquery:
    """When the grace time of a plan's next victim ends."""
    steps = PlannedAction.objects.filter(
        plan=OuterRef("pk"), state=ActionState.PLANNED, kind__in=STOP_KINDS, not_before__isnull=False
    )
    return Subquery(steps.order_by("not_before").values("not_before")[:1])


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
