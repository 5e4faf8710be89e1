"""The plans of some partitions that are not over, as their cards and pages tell of them.

There may be hundreds that are only proposed, of which a page says how many there are: so this is no model, and whom a
plan stops is read of those only of which a page says it.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import lru_cache
from itertools import starmap
from typing import Any, NamedTuple

from django.db.models import OuterRef, Subquery
from django.utils.translation import get_language

from console.cluster.models import Cluster
from console.steering.models import OPEN_STATES, STOP_KINDS, ActionState, Plan, PlannedAction, PlanState

TOLD = 3
"""Of so many proposals of a partition it is told whom they would stop; of plans under way always."""


class OpenPlan(NamedTuple):
    """A plan. `next_stop`: when the grace of its next victim ends; `victims` and `placement`: where they are told."""

    pk: int
    partition: str
    kind: str
    state: str
    enforcement: str
    job_id: str
    job_restarts: int
    job_name: str
    user: str
    tasks: Sequence[Mapping[str, Any]]
    deadline: datetime | None
    not_now: str
    next_stop: datetime | None
    victims: Sequence[Mapping[str, Any]] = ()
    placement: Mapping[str, Any] = {}

    @property
    def state_words(self) -> str:
        """Its state as people say it."""
        return _state_words(self.state, get_language())


@lru_cache(maxsize=64)
def _state_words(state: str, _language: str | None) -> str:
    return str(dict(PlanState.choices).get(state, state))


_FIELDS = OpenPlan._fields[: OpenPlan._fields.index("victims")]


def open_plans_of(cluster: Cluster, names: Sequence[str]) -> list[OpenPlan]:
    """The latest first. Two queries; one where there is none."""
    rows = Plan.objects.filter(cluster=cluster, partition__in=names, state__in=OPEN_STATES)
    plans = list(starmap(OpenPlan, rows.annotate(next_stop=_next_stop()).values_list(*_FIELDS)))
    told, proposed = [], dict.fromkeys(names, 0)
    for plan in plans:
        proposed[plan.partition] += plan.state == PlanState.PROPOSED
        if plan.state != PlanState.PROPOSED or proposed[plan.partition] <= TOLD:
            told.append(plan.pk)
    if not told:
        return plans
    more = Plan.objects.filter(pk__in=told).order_by().values_list("pk", "victims", "placement")
    known = {pk: {"victims": victims, "placement": placement} for pk, victims, placement in more}
    return [plan._replace(**known.get(plan.pk, {})) for plan in plans]


def _next_stop() -> Subquery:
    """When the grace time of a plan's next victim ends."""
    steps = PlannedAction.objects.filter(
        plan=OuterRef("pk"), state=ActionState.PLANNED, kind__in=STOP_KINDS, not_before__isnull=False
    )
    return Subquery(steps.order_by("not_before").values("not_before")[:1])
