"""The priority file through the API: out, in again, and what an import would change."""

from collections.abc import Callable
from typing import Any

import pytest
from rest_framework.test import APIClient

from console.audit.models import AuditEntry
from tests.api.conftest import House

CONFIG = "/api/v1/config/"


def send(client: APIClient, config: Any, *, dry_run: bool = False, reason: str = "for the test") -> Any:
    return client.post(CONFIG, {"config": config, "dry_run": dry_run, "reason": reason})


def test_importing_an_export_changes_nothing(house: House, ada: APIClient) -> None:
    exported = ada.get(CONFIG).json()
    assert exported["schema"] == "giveway.config/1"
    assert [project["code"] for project in exported["projects"]] == ["alpha", "beta"]
    rows = AuditEntry.objects.count()
    result = send(ada, exported).json()
    assert result == {"dry_run": False, "differences": [], "projects_left": [], "partitions_left": []}
    assert AuditEntry.objects.count() == rows


def test_a_dry_run_tells_every_difference_and_changes_nothing(house: House, ada: APIClient) -> None:
    config = ada.get(CONFIG).json()
    config["projects"][0]["urgency"] = 9
    config["projects"].pop()
    rows = AuditEntry.objects.count()
    result = send(ada, config, dry_run=True).json()
    assert result["differences"] == [
        {
            "path": "projects.alpha.urgency",
            "change": "changed",
            "before": 3,
            "after": 9,
            "text": "projects.alpha.urgency: 3 → 9",
        }
    ]
    assert (result["dry_run"], result["projects_left"]) == (True, ["beta"])
    assert ada.get("/api/v1/projects/alpha/").json()["urgency"] == 3
    assert AuditEntry.objects.count() == rows


def test_an_import_changes_projects_and_policies_and_is_in_the_audit_log(
    house: House, ada: APIClient
) -> None:
    config = ada.get(CONFIG).json()
    config["projects"][0]["urgency"] = 9
    config["partitions"][0]["enforcement"] = "enforce"
    response = send(ada, config, reason="Quarterly review")
    assert response.status_code == 200, response.content
    assert ada.get("/api/v1/projects/alpha/").json()["urgency"] == 9
    assert ada.get("/api/v1/partitions/x/").json()["enforcement"] == "enforce"
    row = AuditEntry.objects.get(action="config.imported")
    assert (row.actor, row.reason, row.request_id) == ("ada", "Quarterly review", response["X-Request-ID"])


@pytest.mark.parametrize("dry_run", [True, False])
@pytest.mark.parametrize(
    ("place", "value", "field"),
    [
        (("projects", 1, "size"), -1, "config.projects[1].size"),
        (("projects", 0, "tasks"), [{"pattern": "a*", "level": "P9"}], "config.projects[0].tasks[0].level"),
        (("partitions", 0, "mode"), "loudest", "config.partitions[0].mode"),
        (("partitions", 0, "colour"), "red", "config.partitions[0].colour"),
        (("cluster",), "elsewhere", "config.cluster"),
        (("schema",), "giveway.config/2", "config.schema"),
        (("projects",), {}, "config.projects"),
    ],
)
def test_a_fault_is_named_by_its_path_and_nothing_is_imported(
    house: House, ada: APIClient, place: tuple[Any, ...], value: Any, field: str, dry_run: bool
) -> None:
    config = ada.get(CONFIG).json()
    config["projects"][0]["urgency"] = 9
    inside: Any = config
    for key in place[:-1]:
        inside = inside[key]
    inside[place[-1]] = value
    response = send(ada, config, dry_run=dry_run)
    assert (response.status_code, list(response.json()["error"]["fields"])) == (400, [field])
    assert ada.get("/api/v1/projects/alpha/").json()["urgency"] == 3


@pytest.mark.parametrize("config", [None, [], "text", 7])
def test_what_is_no_file_is_refused(house: House, ada: APIClient, config: Any) -> None:
    response = send(ada, config)
    assert (response.status_code, list(response.json()["error"]["fields"])) == (400, ["config"])


def test_an_import_says_why(house: House, ada: APIClient) -> None:
    response = send(ada, ada.get(CONFIG).json(), reason="")
    assert (response.status_code, list(response.json()["error"]["fields"])) == (400, ["reason"])


def test_a_partition_is_exported_alone_by_its_administrator(
    house: House, as_person: Callable[[str], APIClient]
) -> None:
    exported = as_person("dave").get(CONFIG, {"partition": "x"}).json()
    assert ([p["name"] for p in exported["partitions"]], exported["projects"]) == (["x"], [])
    assert exported["partitions"][0]["admins"] == ["dave"]
    statuses = [
        as_person(role).get(CONFIG, {"partition": name}).status_code
        for role, name in (("dave", "y"), ("vera", "x"), ("pam", "x"), ("otto", "y"), ("ada", "nowhere"))
    ]
    assert statuses == [404, 404, 404, 200, 404]
