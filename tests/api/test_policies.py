"""Putting policies in force: whole or in part, based on what was read, with a reason; and looking back."""

from collections.abc import Callable
from typing import Any

import pytest
from rest_framework.test import APIClient

from console.audit.models import AuditEntry
from console.partitions.models import PolicyRevision
from tests.api.conftest import House

POLICY = "/api/v1/partitions/x/policy/"


def fields_of(response: Any) -> dict[str, list[str]]:
    """The fields at fault of a refused request."""
    assert response.status_code == 400, response.content
    return dict(response.json()["error"]["fields"])


def change(client: APIClient, keys: dict[str, Any], based_on: int = 1, reason: str = "for the test") -> Any:
    return client.patch(POLICY, {"policy": keys, "based_on": based_on, "reason": reason})


def test_a_patch_puts_the_changed_keys_in_force(house: House, as_person: Callable[[str], APIClient]) -> None:
    dave = as_person("dave")
    before = dave.get(POLICY).json()
    response = change(dave, {"enforcement": "enforce", "exempt_s": 60}, reason="We trust it now")
    after = response.json()
    assert response.status_code == 200, response.content
    assert after["policy"] == {**before["policy"], "enforcement": "enforce", "exempt_s": 60} | {
        key: after["policy"][key] for key in after["policy"].keys() - before["policy"].keys()
    }
    assert (after["revision"], after["author"], after["reason"], after["enforcement"]) == (
        2,
        "dave",
        "We trust it now",
        "enforce",
    )
    assert dave.get(POLICY).json() == after
    row = AuditEntry.objects.get(action="policy.activated", actor="dave")
    assert row.after is not None
    assert (row.policy_revision, row.after["exempt_s"], row.request_id) == (2, 60, response["X-Request-ID"])


NEW_KEYS: dict[str, Any] = {
    "min_wait_s": 60,
    "cool_down_s": 0,
    "max_stops_per_hour": 20,
    "max_stops_per_user_hour": 0,
    "rest_s": 600,
    "max_stops_per_job_hour": 1,
    "max_crashes_per_hour": 3,
    "protected_jobs": ["4711", "release_*"],
    "protected_users": ["ann"],
    "protected_accounts": ["physics"],
    "protected_qos": ["high"],
    "keyword_denied": "refuse",
    "order": "slurm",
    "units": False,
    "elastic": False,
    "partial": "take",
    "give_back": "whole",
    "regrow_s": 600,
    "patience_s": 60,
    "dispatch": "managed",
    "balance": {"resource": "gpu", "max_distance": 0.05, "else": "nearest"},
    "quota_amounts": {"P0": {"gpu": 16, "cpu": 128}},
    "quota_totals": {"P1": {"gpu:a100": 32}},
    "levels": [
        {"name": "P0", "min_score": 60, "keyword": "p0", "keyword_users": ["bob", "eval-*"]},
        {"name": "P1", "min_score": 20},
        {"name": "P2", "keyword": "p2", "keyword_users": []},
        {"name": "P3", "keyword": "p3"},
    ],
}


def test_limits_protections_and_keyword_users_go_in_and_out(house: House, ada: APIClient) -> None:
    after = change(ada, NEW_KEYS).json()["policy"]
    assert {key: after[key] for key in NEW_KEYS} == NEW_KEYS
    emptied = change(ada, {"max_stops_per_hour": None, "protected_jobs": []}, based_on=2).json()["policy"]
    assert (emptied["max_stops_per_hour"], emptied["protected_jobs"], emptied["cool_down_s"]) == (None, [], 0)


def test_a_put_takes_defaults_for_what_it_leaves_out(house: House, ada: APIClient) -> None:
    body = {
        "policy": {"mode": "task", "levels": [{"name": "P0", "min_score": 1}]},
        "based_on": 1,
        "reason": "Anew",
    }
    policy = ada.put(POLICY, body).json()["policy"]
    assert (policy["mode"], policy["user_overrides"], policy["quotas"]) == ("task", {}, {})
    assert (policy["enforcement"], policy["grace_s"]) == ("shadow", 30)


def test_what_was_read_can_be_written_back_and_makes_no_revision(house: House, ada: APIClient) -> None:
    read = ada.get(POLICY).json()
    response = ada.put(
        POLICY, {"policy": read["policy"], "based_on": read["revision"], "reason": "Just looking"}
    )
    assert (response.status_code, response.json()) == (200, read)
    assert PolicyRevision.objects.filter(partition=house.x).count() == 1


@pytest.mark.parametrize("method", ["put", "patch"])
def test_a_policy_based_on_an_old_revision_is_a_conflict(house: House, ada: APIClient, method: str) -> None:
    assert change(ada, {"exempt_s": 60}).status_code == 200
    response = getattr(ada, method)(POLICY, {"policy": {"mode": "user"}, "based_on": 1, "reason": "Late"})
    assert (response.status_code, response.json()["error"]["code"]) == (409, "changed_since")
    assert ada.get(POLICY).json()["revision"] == 2


@pytest.mark.parametrize(
    ("keys", "field"),
    [
        ({"mode": "loudest"}, "policy.mode"),
        ({"mode": 3}, "policy.mode"),
        ({"grace_s": -1}, "policy.grace_s"),
        ({"min_wait_s": 10**9}, "policy.min_wait_s"),
        ({"cool_down_s": None}, "policy.cool_down_s"),
        ({"max_stops_per_hour": "many"}, "policy.max_stops_per_hour"),
        ({"max_stops_per_user_hour": 10**9 + 1}, "policy.max_stops_per_user_hour"),
        ({"protected_users": "ann"}, "policy.protected_users"),
        ({"protected_qos": ["high", "high"]}, "policy.protected_qos[1]"),
        ({"keyword_denied": "no"}, "policy.keyword_denied"),
        ({"exempt_s": 1.5}, "policy.exempt_s"),
        ({"levels": [{"name": "P0"}, {"nam": "P1"}]}, "policy.levels[1].nam"),
        ({"levels": {}}, "policy.levels"),
        ({"user_overrides": {"carol": "P9"}}, "policy.user_overrides.carol"),
        ({"quotas": {"P0": -1}}, "policy.quotas.P0"),
        ({"quota_amounts": {"P0": 4}}, "policy.quota_amounts.P0"),
        ({"quota_totals": {"P0": {"gpu": 10**9 + 1}}}, "policy.quota_totals"),
        ({"quota_totals": {"P0": {"a b": 1}}}, "policy.quota_totals"),
        ({"bands": [[0], [0]]}, "policy.bands[1]"),
        ({"colour": "red"}, "policy.colour"),
        ({"name": "y"}, "policy.name"),
        ({"user_overrides": {"a\0b": "P0"}}, 'policy.user_overrides["a\\u0000b"]'),
    ],
)
def test_a_wrong_value_is_named_by_its_path_and_changes_nothing(
    house: House, ada: APIClient, keys: dict[str, Any], field: str
) -> None:
    assert list(fields_of(change(ada, keys))) == [field]
    assert PolicyRevision.objects.filter(partition=house.x).count() == 1


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"policy": {"mode": "task"}, "reason": "r"}, "based_on"),
        ({"policy": {"mode": "task"}, "based_on": 1}, "reason"),
        ({"policy": {"mode": "task"}, "based_on": 1, "reason": " "}, "reason"),
        ({"policy": [], "based_on": 1, "reason": "r"}, "policy"),
        ({"based_on": 1, "reason": "r"}, "policy"),
    ],
)
@pytest.mark.parametrize("method", ["put", "patch"])
def test_a_change_says_what_it_is_based_on_and_why(
    house: House, ada: APIClient, method: str, body: dict[str, Any], field: str
) -> None:
    assert list(fields_of(getattr(ada, method)(POLICY, body))) == [field]


def test_earlier_revisions_stay_to_be_read(house: House, ada: APIClient) -> None:
    change(ada, {"exempt_s": 60})
    change(ada, {"exempt_s": 90}, based_on=2)
    revisions = ada.get("/api/v1/partitions/x/revisions/").json()["results"]
    assert [(row["revision"], row["author"]) for row in revisions] == [(3, "ada"), (2, "ada"), (1, "ada")]
    seen = [ada.get(f"/api/v1/partitions/x/revisions/{n}/").json()["policy"]["exempt_s"] for n in (1, 2, 3)]
    assert seen == [0, 60, 90]
    assert ada.get("/api/v1/partitions/x/revisions/4/").status_code == 404


def test_an_administrator_of_one_partition_does_not_see_the_policy_of_another(
    house: House, as_person: Callable[[str], APIClient]
) -> None:
    dave = as_person("dave")
    assert dave.get("/api/v1/partitions/y/policy/").status_code == 404
    body = {"policy": {"mode": "user"}, "based_on": 1, "reason": "Mine now"}
    assert dave.put("/api/v1/partitions/y/policy/", body).status_code == 404
    assert PolicyRevision.objects.filter(partition=house.y).count() == 1
