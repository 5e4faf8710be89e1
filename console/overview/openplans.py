"""The plans of some partitions that are not over, as their cards and pages tell of them.

There may be hundreds that are only proposed, of which a page says how many there are: so this is no model, and whom a
plan stops is understood of those only of which a page says it.
"""

import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import lru_cache
from itertools import starmap
from typing import Any, NamedTuple

from django.db.models import OuterRef, QuerySet, Subquery, TextField
from django.db.models.functions import Cast
from django.utils.translation import get_language

from console.cluster.models import Cluster
from console.core.sentence_field import with_sentences
from console.steering.models import OPEN_STATES, STOP_KINDS, ActionState, Plan, PlannedAction, PlanState
from console.steering.ways import shortly


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
        return _state_words(self.state, get_language())


@lru_cache(maxsize=64)
def _state_words(state: str, _language: str | None) -> str:
    return str(dict(PlanState.choices).get(state, state))


_JSON = {"told_tasks": "tasks", "stops": "victims", "places": "placement"}
_FIELDS = tuple(Cast(_JSON[name], TextField()) if name in _JSON else name for name in OpenPlan._fields)


def open_plans_of(cluster: Cluster, names: Sequence[str]) -> list[OpenPlan]:
    """The latest first; one query."""
    return list(starmap(OpenPlan, _open_plans(cluster.pk, *names)))


def _open_plans(cluster: int, *names: str) -> QuerySet[Plan, Any]:
    rows = Plan.objects.filter(cluster=cluster, partition__in=names, state__in=OPEN_STATES)
    return rows.annotate(next_stop=_next_stop()).values_list(*_FIELDS)


def _next_stop() -> Subquery:
    """When the grace time of a plan's next victim ends."""
    steps = PlannedAction.objects.filter(
        plan=OuterRef("pk"), state=ActionState.PLANNED, kind__in=STOP_KINDS, not_before__isnull=False
    )
    return Subquery(steps.order_by("not_before").values("not_before")[:1])
