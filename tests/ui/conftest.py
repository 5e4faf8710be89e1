"""A small house for the pages' tests, and browsers that are somebody in it.

Partitions x (dave administers it) and y; projects alpha (pam manages it) and beta; nodes, jobs, a plan with steps
and a stored snapshot, and audit rows about x and alpha.
"""

import json
import zlib
from collections.abc import Callable, Iterator
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

import pytest
from django.db import transaction
from django.test import Client
from django.utils import timezone

from console.accounts.models import User
from console.audit.services import Context, Subject, record
from console.cluster.models import Cluster
from console.partitions.models import Partition
from console.projects.models import Project
from console.steering.models import Plan, StoredSnapshot
from tests import factories
from tests.plugins.shared_rows import made_once

ROLES = ("anonymous", "vera", "pam", "dave", "otto", "ada")
"""Nobody, a viewer, alpha's manager, x's administrator, the auditor, the administrator."""
SNAPSHOT = {
    "schema": "giveway.snapshot/1",
    "now": 1,
    "partition": {"name": "x", "mode": "user"},
    "nodes": [],
    "jobs": [],
}
SignedIn = Callable[[str], Client]


@dataclass(frozen=True)
class House:
    """What there is."""

    cluster: Cluster
    x: Partition
    y: Partition
    alpha: Project
    beta: Project
    plan: Plan
    people: dict[str, User]

    def touch(self) -> None:
        """Something shown has changed: pages that poll are to see it."""
        self.cluster.version += 1
        self.cluster.save(update_fields=["version"])


def make_house() -> House:
    """All of it."""
    cluster = factories.make_cluster(cycle=7, version=3, observed_at=timezone.now())
    people = {
        "ada": factories.make_administrator(),
        "otto": factories.make_auditor(),
        **{name: factories.make_viewer(name) for name in ("vera", "pam", "dave")},
    }
    x, y = factories.make_partition(cluster, "x"), factories.make_partition(cluster, "y", mode="task")
    factories.make_partition_admin(x, "dave")
    for name in ("x", "y"):
        factories.make_observed_partition(cluster, name)
    alpha = factories.make_project(cluster, "alpha")
    beta = factories.make_project(cluster, "beta", size=10.0, grade=2.0, urgency=1.0)
    factories.make_manager(alpha, "pam")
    factories.make_member(alpha, "ann")
    factories.make_task_pattern(alpha)
    factories.make_node(cluster, "n1", used={"cpu": 4})
    factories.make_node(cluster, "n2", up=False, state="DRAINED", state_reason="fan", partitions=["x", "y"])
    plan = _plan(cluster)
    _log(cluster, people)
    return House(cluster, x, y, alpha, beta, plan, people)


def _plan(cluster: Cluster) -> Plan:
    factories.make_running_job(
        cluster,
        user="bob",
        name="p1_train",
        user_level=1,
        user_level_name="P1",
        task_level=None,
        resources="4 cpu",
    )
    factories.make_job(
        cluster,
        user_level=0,
        user_level_name="P0",
        user_origin="alpha: 40 ÷ 1 × 3 = 120 → P0",
        task_level=1,
        task_level_name="P1",
        task_origin="keyword p1",
        project="alpha",
        place=1,
        reason="plan_running",
        explain="101 needs 4 cpu; 88 gives them.",
    )
    stored = StoredSnapshot.objects.create(digest="d" * 64, body=zlib.compress(json.dumps(SNAPSHOT).encode()))
    plan = factories.make_plan(
        factories.make_cycle(cluster, 7),
        state="executing",
        stored_snapshot=stored,
        policy_revision=1,
        victims=[
            {
                "job": "88",
                "name": "p1_train",
                "user": "bob",
                "how": "requeue",
                "user_level": "P1",
                "task_level": "unconfigured",
                "resources": "4 cpu",
                "ran_s": 300,
            }
        ],
    )
    factories.make_action(plan, "signal", order=15, value="USR1", state="verified", issued_at=factories.NOW)
    factories.make_action(plan)
    return plan


def _log(cluster: Cluster, people: dict[str, User]) -> None:
    with transaction.atomic():
        for what, kind in (("x", "partition"), ("alpha", "project")):
            facts: dict[str, Any] = {kind: what}
            record(
                actor="ada",
                action="policy.activated" if kind == "partition" else "project.changed",
                subject=Subject(kind, what, what, cluster=cluster.name, **facts),
                before={"urgency": 3},
                after={"urgency": 5},
                reason=f"about {what}",
                context=Context(policy_revision=1),
            )


@pytest.fixture
def own_house(db: None) -> House:
    """Made for each test: where some tests commit, or begin with an empty database, this is `house`."""
    return make_house()


@pytest.fixture(scope="module")
def house_of_the_module(request: pytest.FixtureRequest) -> Iterator[House]:
    with made_once(request, "house", make_house) as house:
        yield house


@pytest.fixture
def house(house_of_the_module: House, db: None) -> House:
    """Made once for a module, and the same for each of its tests, but for the time when the cluster was seen."""
    house = deepcopy(house_of_the_module)
    house.cluster.observed_at = timezone.now()
    house.cluster.save(update_fields=["observed_at"])
    return house


@pytest.fixture
def signed_in(house: House) -> SignedIn:
    """A browser of somebody of `ROLES`."""

    def open_browser(role: str) -> Client:
        browser = Client()
        if role != "anonymous":
            browser.cookies["sessionid"] = factories.make_session(house.people[role])
        return browser

    return open_browser


@pytest.fixture
def ada(signed_in: SignedIn) -> Client:
    """The administrator's browser."""
    return signed_in("ada")


def part(target: str) -> dict[str, Any]:
    """Headers with which htmx asks for a part."""
    return {"HX-Request": "true", "HX-Target": target}
