"""The plans that are not over. A cycle asks for them again and again; of proposals there may be very many."""

from collections.abc import Collection, Iterable
from functools import lru_cache
from typing import Any

from django.db import connection
from django.db.models import QuerySet, prefetch_related_objects

from console.cluster.models import Cluster
from console.core import kept_queries
from console.steering.models import OPEN_STATES, Cycle, Plan, PlanState

MOST_NAMED = 500
"""So many plans are asked for by their numbers; for more, all are read."""
_CLUSTER, _CYCLE = Plan.cluster.field, Plan.cycle.field


def open_plans(cluster: Cluster, states: Collection[str] = OPEN_STATES) -> list[Plan]:
    """Plans that are not over, oldest first, with their actions. No part of a cycle reads whom they left alone."""
    return _ready(cluster, kept_queries.rows(_whole, cluster.pk, *states))


class OpenPlans:
    """The open plans of a cluster, for one cycle after the other.

    A proposal that stands as it did is not read again: it is the same object, with what the cycle has made of it since.
    What has begun, or was renewed or decided on meanwhile, is read anew, and so are new plans. From one cycle to the
    next a proposal is the same only if all of its row is.
    """

    def __init__(self) -> None:
        self._cluster = Cluster()
        self._proposals: dict[int, Plan] = {}
        self._rows: dict[int, int] = {}
        """Digests of their rows, as they were at the beginning of this cycle, or of the last."""

    def begin(self, cluster: Cluster) -> None:
        """A new cycle: nothing is taken for granted that the last one, or anybody else, may have changed."""
        self._cluster = cluster
        before, self._rows = self._rows, _digests(cluster)
        self._proposals = {
            key: plan
            for key, plan in self._proposals.items()
            if key in before and before[key] == self._rows.get(key)
        }

    def add(self, made: Iterable[Plan]) -> None:
        """Plans that this cycle has just made and saved."""
        self._proposals |= {plan.pk: plan for plan in made if plan.state == PlanState.PROPOSED}

    def now(self) -> list[Plan]:
        """As `open_plans`, at this moment."""
        marks = kept_queries.rows(_marks, self._cluster.pk)
        there = {key: (version, state) for key, version, state in marks}
        plans = {key: plan for key, plan in self._proposals.items() if _stands(plan, there.get(key))}
        missing = there.keys() - plans.keys()
        if missing:
            asked = _whole(self._cluster.pk, *OPEN_STATES)
            asked = asked.filter(pk__in=missing) if len(missing) <= MOST_NAMED else asked
            plans |= {plan.pk: plan for plan in asked}
        self._proposals = {key: plan for key, plan in plans.items() if plan.state == PlanState.PROPOSED}
        return _ready(self._cluster, [plans[key] for key in sorted(plans)])


def _digests(cluster: Cluster) -> dict[int, int]:
    """Of each proposal its whole row as one number, without reading it into an object."""
    with connection.cursor() as cursor:
        cursor.execute(*_proposed(cluster.pk))
        return {row[0]: hash(row) for row in cursor.fetchall()}


@lru_cache(maxsize=64)
def _proposed(cluster: int) -> tuple[str, tuple[Any, ...]]:
    """The SQL and its values: they hang on the cluster alone."""
    return _whole(cluster, PlanState.PROPOSED).query.sql_with_params()


def _stands(plan: Plan, there: tuple[int, str] | None) -> bool:
    """Whether a proposal is as it was. `there`: the version and the state of its row."""
    return there == (plan.version, PlanState.PROPOSED) and plan.state == PlanState.PROPOSED


def _whole(cluster: int, *states: str) -> QuerySet[Plan]:
    return Plan.objects.filter(cluster=cluster, state__in=states).order_by("id").defer("passed_over")


def _marks(cluster: int) -> QuerySet[Plan, tuple[int, int, str]]:
    return _whole(cluster, *OPEN_STATES).values_list("pk", "version", "state")


def _ready(cluster: Cluster, plans: list[Plan]) -> list[Plan]:
    """With their cluster, their cycles, and their actions: proposals have none yet."""
    prefetch_related_objects([plan for plan in plans if plan.state != PlanState.PROPOSED], "actions")
    fresh = [plan for plan in plans if not _CYCLE.is_cached(plan)]
    cycles = Cycle.objects.in_bulk({plan.cycle_id for plan in fresh})
    # The same as setting the attributes, which asks much of each that is known here.
    for plan in fresh:
        _CYCLE.set_cached_value(plan, cycles[plan.cycle_id])
    for plan in plans:
        _CLUSTER.set_cached_value(plan, cluster)
    return plans
