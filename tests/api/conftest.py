"""A small house for the API's tests, and clients that are somebody in it.

Partitions x (dave administers it) and y; projects alpha (pam manages it) and beta; jobs, nodes, a plan with a
snapshot, and audit rows about x, y, alpha and beta.
"""

import json
import zlib
from collections.abc import Callable, Iterator
from copy import deepcopy
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from typing import Any

import pytest
from django.db import transaction
from django.urls import URLPattern
from rest_framework.test import APIClient

from console.accounts.models import User
from console.audit.models import AuditEntry
from console.audit.services import Context, Subject, record
from console.cluster.models import Cluster
from console.partitions.models import Partition
from console.projects.models import Project
from console.steering.models import Plan, StoredSnapshot
from tests import factories
from tests.factories import EPOCH, NOW
from tests.plugins.shared_rows import made_once

ROLES = ("anonymous", "vera", "pam", "dave", "otto", "ada")
"""Nobody, a viewer, alpha's manager, x's administrator, the auditor, the administrator."""
METHODS = ("get", "post", "put", "patch", "delete")
SNAPSHOT = {
    "schema": "giveway.snapshot/1",
    "now": EPOCH,
    "partition": {"name": "x", "mode": "user_then_task"},
    "nodes": [{"name": "n1", "up": True, "total": {"cpu": 8}}],
    "jobs": [],
}


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
    entries: dict[str, AuditEntry]


def make_house() -> House:
    """All of it."""
    cluster = factories.make_cluster(cycle=7, version=3)
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
    factories.make_member(alpha, "bob")
    factories.make_task_pattern(alpha)
    factories.make_node(cluster, "n1", used={"cpu": 4})
    factories.make_node(cluster, "n2", up=False, state="DRAINED", state_reason="fan", partitions=["y"])
    make_jobs(cluster)
    plan = make_plan(cluster)
    return House(cluster, x, y, alpha, beta, plan, people, make_entries(cluster, plan))


def make_jobs(cluster: Cluster) -> None:
    """A pending job that makes room in x, a running one there, and one that waits in both partitions."""
    levels: dict[str, Any] = {
        "user_level": 0,
        "user_level_name": "P0",
        "user_origin": "alpha: 40 / 1 * 3 = 120",
        "task_level": 1,
        "task_level_name": "P1",
        "task_origin": "keyword p1",
    }
    factories.make_job(
        cluster,
        "101",
        project="alpha",
        verdict="preempt",
        reason="lower_user",
        explain="101 (ann, P0) needs 4 cpu on one node; 88 (bob, P1) gives them.",
        place=1,
        **levels,
    )
    factories.make_running_job(cluster, "88", user="bob", name="p2_train", account="beta", project="beta")
    for name in ("x", "y"):
        factories.make_job(
            cluster, "102", partition=name, user="carol", account="", submit=EPOCH - 60, held=True
        )


def make_plan(cluster: Cluster) -> Plan:
    """A plan that stops 88 for 101, with what it was decided on and its action."""
    stored = StoredSnapshot.objects.create(digest="d" * 64, body=zlib.compress(json.dumps(SNAPSHOT).encode()))
    victim = {
        "job": "88",
        "name": "p2_train",
        "user": "bob",
        "how": "requeue",
        "start": EPOCH - 300,
        "restarts": 0,
    }
    seen = {"user_level": "P1", "task_level": "unconfigured", "resources": "4 cpu", "ran_s": 300}
    plan = factories.make_plan(
        factories.make_cycle(cluster, 7),
        state="executing",
        victims=[victim | seen],
        stored_snapshot=stored,
        policy_revision=1,
        deadline=NOW + timedelta(minutes=2),
    )
    factories.make_action(plan)
    return plan


def offered_methods(pattern: URLPattern) -> set[str]:
    """The methods that the view behind an address of the API has."""
    view: Any = pattern.callback
    offers = view.actions.__contains__ if hasattr(view, "actions") else partial(hasattr, view.view_class)
    return set(filter(offers, METHODS))


def make_entries(cluster: Cluster, plan: Plan) -> dict[str, AuditEntry]:
    """An audit row about each partition, each project and the cluster as a whole."""

    def about(**where: str) -> Subject:
        label = next(iter(where.values()), cluster.name)
        return Subject(
            type=next(iter(where), "cluster"), id=label, label=label, cluster=cluster.name, **where
        )

    with transaction.atomic():
        return {
            **{
                name: record(
                    actor="ada",
                    action="policy.activated",
                    subject=about(partition=name),
                    before={"exempt_s": 0},
                    after={"exempt_s": 60},
                    context=Context(policy_revision=2, request_id="r" * 32),
                    reason="for the test",
                )
                for name in ("x", "y")
            },
            **{
                code: record(
                    actor="ada",
                    action="project.created",
                    subject=about(project=code),
                    after={"code": code},
                    reason="for the test",
                )
                for code in ("alpha", "beta")
            },
            "cluster": record(
                actor="giveway",
                action="cluster.degraded",
                subject=about(),
                context=Context(cycle=7, plan=plan.pk),
                reason="for the test",
            ),
        }


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
    """Made once for a module, and the same for each of its tests."""
    return deepcopy(house_of_the_module)


@pytest.fixture
def as_person(house: House) -> Callable[[str], APIClient]:
    """A client with somebody's token; `anonymous` has none."""
    secrets: dict[str, str] = {}

    def make(name: str) -> APIClient:
        client = APIClient()
        if name != "anonymous":
            if name not in secrets:
                secrets[name] = factories.make_token(house.people[name])
            client.credentials(HTTP_AUTHORIZATION=f"Token {secrets[name]}")
        return client

    return make


@pytest.fixture
def ada(as_person: Callable[[str], APIClient]) -> APIClient:
    """The administrator."""
    return as_person("ada")
