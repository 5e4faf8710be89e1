"""Lists: filters, order, pages, and how many questions they put to the database."""

from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from rest_framework.test import APIClient

from console.cluster.models import Cluster
from tests import factories
from tests.api.conftest import House
from tests.factories import EPOCH

JOBS = "/api/v1/jobs/"


def found(client: APIClient, path: str, key: str, **query: Any) -> list[Any]:
    """What a list returns, by one of the keys."""
    response = client.get(path, query)
    assert response.status_code == 200, response.content
    return [row[key] for row in response.json()["results"]]


def test_jobs_come_with_the_latest_submitted_first(house: House, ada: APIClient) -> None:
    assert found(ada, JOBS, "job_id") == ["102", "102", "101", "88"]


@pytest.mark.parametrize(
    ("query", "wanted"),
    [
        ({"partition": "y"}, ["102"]),
        ({"job_id": "102"}, ["102", "102"]),
        ({"phase": "running"}, ["88"]),
        ({"phase": ["running", "pending"], "partition": "x"}, ["102", "101", "88"]),
        ({"user": "bob"}, ["88"]),
        ({"account": "alpha"}, ["101"]),
        ({"project": "beta"}, ["88"]),
        ({"level": "P0"}, ["101"]),
        ({"level": "P1"}, ["101"]),
        ({"user_level": "P0"}, ["101"]),
        ({"task_level": "P0"}, []),
        ({"level": "unconfigured", "partition": "x"}, ["102", "88"]),
        ({"held": "true", "partition": "x"}, ["102"]),
        ({"verdict": "preempt"}, ["101"]),
        ({"reason": "lower_user"}, ["101"]),
        ({"plan": 999}, []),
        ({"ordering": "submitted_at"}, ["101", "88", "102", "102"]),
        ({"ordering": "-job_id"}, ["88", "102", "102", "101"]),
    ],
)
def test_jobs_are_filtered(house: House, ada: APIClient, query: dict[str, Any], wanted: list[str]) -> None:
    assert found(ada, JOBS, "job_id", **query) == wanted


@pytest.mark.parametrize(
    ("path", "key", "query", "wanted"),
    [
        ("/api/v1/nodes/", "name", {"partition": "y"}, ["n2"]),
        ("/api/v1/nodes/", "name", {"partition": "x"}, ["n1"]),
        ("/api/v1/nodes/", "name", {"up": "false"}, ["n2"]),
        ("/api/v1/plans/", "job_id", {"partition": "x", "state": ["executing", "proposed"]}, ["101"]),
        ("/api/v1/plans/", "job_id", {"state": "verified"}, []),
        ("/api/v1/plans/", "job_id", {"kind": "quota"}, []),
        ("/api/v1/plans/", "job_id", {"enforcement": "enforce", "user": "ann", "job_id": "101"}, ["101"]),
        ("/api/v1/plans/", "job_id", {"stopped": "88"}, ["101"]),
        ("/api/v1/plans/", "job_id", {"stopped": "101"}, []),
        ("/api/v1/plans/", "job_id", {"cycle": 7}, ["101"]),
        ("/api/v1/plans/", "job_id", {"since": "2026-03-02T12:00:00Z"}, ["101"]),
        ("/api/v1/plans/", "job_id", {"until": "2026-03-02T12:00:00Z"}, []),
        ("/api/v1/projects/", "code", {}, ["alpha", "beta"]),
        ("/api/v1/projects/", "code", {"code": "beta"}, ["beta"]),
        ("/api/v1/projects/", "code", {"slurm_account": "alpha"}, ["alpha"]),
        ("/api/v1/projects/", "code", {"member": "ann"}, ["alpha"]),
        ("/api/v1/projects/", "code", {"member": "pam"}, []),
        ("/api/v1/projects/", "code", {"manager": "pam"}, ["alpha"]),
        ("/api/v1/partitions/", "name", {}, ["x", "y"]),
        ("/api/v1/audit/", "object_id", {"actor": "ada", "action": "policy.activated"}, ["y", "x"]),
        ("/api/v1/audit/", "object_id", {"partition": "x"}, ["x"]),
        ("/api/v1/audit/", "object_id", {"partition": "x", "by": "people"}, ["x"]),
        ("/api/v1/audit/", "object_id", {"partition": "x", "by": "giveway"}, []),
        ("/api/v1/audit/", "object_id", {"project": "beta"}, ["beta"]),
        ("/api/v1/audit/", "object_id", {"object_type": "cluster", "object_id": "dev"}, ["dev"]),
        ("/api/v1/audit/", "object_id", {"cycle": 7}, ["dev"]),
        ("/api/v1/audit/", "object_id", {"request_id": "r" * 32}, ["y", "x"]),
        ("/api/v1/audit/", "object_id", {"job_id": "88"}, []),
        ("/api/v1/audit/", "object_id", {"until": "2020-01-01T00:00:00Z"}, []),
        (
            "/api/v1/audit/",
            "object_id",
            {"since": "2020-01-01T00:00:00Z", "cluster": "dev", "project": "beta"},
            ["beta"],
        ),
    ],
)
def test_other_lists_are_filtered(
    house: House, ada: APIClient, path: str, key: str, query: dict[str, Any], wanted: list[str]
) -> None:
    assert found(ada, path, key, **query) == wanted


def test_a_plan_is_found_by_the_plan_filter_of_the_audit_log(house: House, ada: APIClient) -> None:
    assert found(ada, "/api/v1/audit/", "object_id", plan=house.plan.pk) == ["dev"]


@pytest.mark.parametrize(
    ("role", "wanted"),
    [
        ("pam", ["alpha"]),
        ("dave", ["x"]),
        ("otto", ["dev", "beta", "alpha", "y", "x"]),
        ("ada", ["dev", "beta", "alpha", "y", "x"]),
    ],
)
def test_the_audit_log_shows_each_what_is_theirs(
    house: House, as_person: Callable[[str], APIClient], role: str, wanted: list[str]
) -> None:
    assert found(as_person(role), "/api/v1/audit/", "object_id") == wanted


def test_a_manager_sees_the_own_projects_only(house: House, as_person: Callable[[str], APIClient]) -> None:
    assert found(as_person("pam"), "/api/v1/projects/", "code") == ["alpha"]
    assert found(as_person("dave"), "/api/v1/projects/", "code") == ["alpha", "beta"]


def test_another_clusters_rows_are_not_there(house: House, ada: APIClient) -> None:
    other = factories.make_cluster("other")
    factories.make_job(other, "7777")
    factories.make_node(other, "elsewhere")
    factories.make_project(other, "foreign")
    factories.make_partition(other, "z")
    plan = factories.make_plan(factories.make_cycle(other), "7777")
    assert "7777" not in found(ada, JOBS, "job_id")
    assert "elsewhere" not in found(ada, "/api/v1/nodes/", "name")
    assert "foreign" not in found(ada, "/api/v1/projects/", "code")
    assert "z" not in found(ada, "/api/v1/partitions/", "name")
    assert plan.pk not in found(ada, "/api/v1/plans/", "id")
    gone = [
        f"{JOBS}7777/",
        "/api/v1/nodes/elsewhere/",
        "/api/v1/projects/foreign/",
        f"/api/v1/plans/{plan.pk}/",
    ]
    assert {ada.get(path).status_code for path in [*gone, "/api/v1/partitions/z/"]} == {404}


def test_pages_follow_each_other_without_gap_or_overlap(house: House, ada: APIClient) -> None:
    for number in range(1000, 1010):
        factories.make_job(house.cluster, str(number), submit=EPOCH)
    seen: list[tuple[str, str]] = []
    address: str | None = f"{JOBS}?limit=4&ordering=submitted_at"
    pages = 0
    while address:
        page = ada.get(address).json()
        assert page["count"] == 14 and len(page["results"]) <= 4
        seen += [(job["job_id"], job["partition"]) for job in page["results"]]
        address, pages = page["next"], pages + 1
    assert (len(seen), len(set(seen)), pages) == (14, 14, 4)
    assert ada.get(f"{JOBS}?offset=4&limit=4").json()["previous"] == f"http://testserver{JOBS}?limit=4"


def test_a_page_has_at_most_500_rows(house: House, ada: APIClient, make_many: Callable[..., None]) -> None:
    make_many(house.cluster, 600)
    assert len(found(ada, JOBS, "job_id", limit=100000)) == 500
    assert len(found(ada, JOBS, "job_id")) == 100


@pytest.fixture
def make_many() -> Callable[[Cluster, int], None]:
    def make(cluster: Cluster, number: int) -> None:
        for i in range(number):
            factories.make_job(cluster, f"9{i:05}")

    return make


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ({"limit": "0"}, "limit"),
        ({"limit": "-1"}, "limit"),
        ({"limit": "ten"}, "limit"),
        ({"limit": "٣"}, "limit"),
        ({"offset": "-1"}, "offset"),
        ({"offset": "9" * 30}, "offset"),
        ({"phase": "sleeping"}, "phase"),
        ({"partiton": "x"}, "partiton"),
        ({"ordering": "name"}, "ordering"),
        ({"plan": "many"}, "plan"),
        ({"user": "a\0b"}, "user"),
    ],
)
def test_nonsense_in_the_address_is_refused_by_name(
    house: House, ada: APIClient, query: dict[str, str], field: str
) -> None:
    response = ada.get(JOBS, query)
    error = response.json()["error"]
    assert (response.status_code, error["code"], list(error["fields"])) == (400, "invalid", [field])
    assert field in error["message"]


@pytest.mark.parametrize("path", ["/api/v1/plans/", "/api/v1/audit/"])
def test_a_time_that_is_none_is_refused_by_name(house: House, ada: APIClient, path: str) -> None:
    response = ada.get(path, {"since": "yesterday"})
    assert (response.status_code, list(response.json()["error"]["fields"])) == (400, ["since"])


@pytest.mark.parametrize(
    "path",
    [
        "jobs/",
        "nodes/",
        "plans/",
        "partitions/",
        "projects/",
        "audit/",
        "partitions/x/revisions/",
        "nodes/?partition=x",
    ],
)
@pytest.mark.parametrize("role", ["ada", "dave"])
def test_a_longer_list_asks_the_database_no_more(
    house: House, as_person: Callable[[str], APIClient], path: str, role: str
) -> None:
    client = as_person(role)
    client.get(f"/api/v1/{path}")
    with CaptureQueriesContext(
        connection,
    ) as few:
        client.get(f"/api/v1/{path}")
    grow(house)
    with CaptureQueriesContext(connection) as many:
        answer = client.get(f"/api/v1/{path}").json()
    assert answer["count"] >= 5
    assert len(many) == len(few) <= 12


def grow(house: House) -> None:
    """Five more of everything."""
    cycle = factories.make_cycle(house.cluster, 8)
    for i in range(5):
        factories.make_job(house.cluster, f"5{i}")
        factories.make_node(house.cluster, f"m{i}")
        partition = factories.make_partition(house.cluster, f"z{i}")
        factories.make_observed_partition(house.cluster, partition.name)
        factories.make_revision(house.x, i + 2)
        project = factories.make_project(house.cluster, f"p{i}")
        factories.make_member(project)
        factories.make_task_pattern(project)
        factories.make_action(factories.make_plan(cycle, f"5{i}"), job_id=f"6{i}")
        make_row(i)


def make_row(number: int) -> None:
    """An audit row about partition x."""
    from django.db import transaction

    from console.audit.services import Context, Subject, record

    with transaction.atomic():
        record(
            actor="ada",
            action="policy.activated",
            subject=Subject(type="partition", id="x", label="x", cluster="dev", partition="x"),
            before={"exempt_s": number},
            after={"exempt_s": number + 1},
            reason="for the test",
            context=Context(policy_revision=number + 2),
        )
