"""Validators: what is known is not sent again, and nobody writes over what he has not read."""

import re
from collections.abc import Callable
from typing import Any

import pytest
from django.db.models import F
from django.utils import timezone
from rest_framework.test import APIClient

from console.api.repeats import is_one_of
from console.cluster.models import Cluster, Job
from console.partitions.models import PolicyRevision
from console.projects.models import Project
from tests.api.conftest import ROLES, House
from tests.api.test_access import TABLE, address

ALPHA = "/api/v1/projects/alpha/"
POLICY = "/api/v1/partitions/x/policy/"
URGENT = {"urgency": 5, "version": 1, "reason": "for the test"}


def test_every_answer_to_get_has_a_tag_that_saves_it_the_second_time(
    house: House, ada: APIClient, time_machine: Any
) -> None:
    time_machine.move_to(timezone.now(), tick=False)  # some answers tell until when they count
    seen = 0
    for name, arguments, method, statuses in TABLE:
        if method != "get" or statuses[-1] != 200 or name == "api-docs":
            continue
        path = address(house, name, arguments, method)
        first = ada.get(path)
        if first.streaming:
            continue  # nobody knows its content before it is sent
        tag = first["ETag"]
        again = ada.get(path, headers={"If-None-Match": f'"other", {tag}'})
        assert (again.status_code, again.content, again["ETag"]) == (304, b"", tag), name
        assert name == "api-schema" or "no-store" in again["Cache-Control"]
        assert ada.get(path, headers={"If-None-Match": '"other"'}).content == first.content, name
        seen += 1
    assert seen > 20


def test_an_unchanged_list_of_jobs_is_not_even_looked_up(
    house: House, ada: APIClient, django_assert_max_num_queries: Any
) -> None:
    path = "/api/v1/jobs/?partition=x"
    tag = ada.get(path)["ETag"]
    assert tag.startswith("W/")
    with django_assert_max_num_queries(3) as counted:  # who asks, and the cluster
        assert ada.get(path, headers={"If-None-Match": tag}).status_code == 304
    assert not [each for each in counted.captured_queries if "cluster_job" in each["sql"]]
    Job.objects.filter(job_id="101").update(name="other")
    Cluster.objects.update(version=F("version") + 1)
    changed = ada.get(path, headers={"If-None-Match": tag})
    assert changed.status_code == 200 and changed["ETag"] != tag


def test_the_tag_changes_with_the_content(house: House, ada: APIClient) -> None:
    before = ada.get(ALPHA)["ETag"]
    assert before.startswith('"1-')
    answer = ada.patch(ALPHA, URGENT)
    assert answer["ETag"].startswith('"2-')
    assert ada.get(ALPHA, headers={"If-None-Match": before}).status_code == 200
    assert ada.get(ALPHA)["ETag"] == answer["ETag"], "what a change answers is what GET shows"


def test_somebody_elses_answer_has_somebody_elses_tag(
    house: House, as_person: Callable[[str], APIClient]
) -> None:
    """x's policy is there for dave only: the tag that ada has got does not tell vera that nothing changed."""
    path = "/api/v1/partitions/x/"
    tag = as_person("dave").get(path)["ETag"]
    assert as_person("vera").get(path, headers={"If-None-Match": tag}).status_code == 200


@pytest.mark.parametrize("role", ROLES[:2])
def test_a_tag_opens_no_door(house: House, as_person: Callable[[str], APIClient], role: str) -> None:
    for match in ("If-Match", "If-None-Match"):
        answer = as_person(role).patch(ALPHA, URGENT, headers={match: "*"})
        assert answer.status_code == (401 if role == "anonymous" else 404)
        assert "ETag" not in answer


def test_a_project_is_changed_only_as_it_was_read(house: House, ada: APIClient) -> None:
    tag = ada.get(ALPHA)["ETag"]
    assert ada.patch(ALPHA, URGENT, headers={"If-Match": f'"other", {tag}'}).status_code == 200
    ada.patch(ALPHA, {"members": ["ann"], "version": 2, "reason": "for the test"})
    late = ada.patch(ALPHA, {**URGENT, "urgency": 9, "version": 3}, headers={"If-Match": tag})
    assert late.status_code == 412
    error = late.json()["error"]
    assert error["code"] == "precondition_failed"
    assert "urgency: 3 → 5" in error["message"] and "bob" in error["message"]
    assert error["message"].startswith("It has changed since you read it, by ada: ")
    chinese = {"If-Match": tag, "Accept-Language": "zh-hans"}
    read = ada.patch(ALPHA, {**URGENT, "version": 3}, headers=chinese).json()["error"]["message"]
    assert read.startswith("您读取之后，它已被 ada 改动：urgency：3 → 5；") and not re.search("[;:.] ", read)
    assert late["ETag"] == ada.get(ALPHA)["ETag"]
    assert Project.objects.get(code="alpha").urgency == 5


def test_a_policy_is_changed_only_as_it_was_read(house: House, ada: APIClient) -> None:
    tag = ada.get(POLICY)["ETag"]
    change = {"policy": {"exempt_s": 60}, "based_on": 1, "reason": "for the test"}
    assert ada.patch(POLICY, change, headers={"If-Match": tag}).status_code == 200
    again = {"policy": {"exempt_s": 90}, "based_on": 2, "reason": "for the test"}
    late = ada.patch(POLICY, again, headers={"If-Match": tag})
    assert late.status_code == 412 and "exempt_s: 0 → 60" in late.json()["error"]["message"]
    assert PolicyRevision.objects.filter(partition=house.x).count() == 2


def test_without_a_tag_the_version_in_the_body_decides_as_ever(house: House, ada: APIClient) -> None:
    assert ada.patch(ALPHA, URGENT).status_code == 200
    late = ada.patch(ALPHA, {**URGENT, "urgency": 9})
    assert late.status_code == 409
    assert "was changed by ada since you looked at it" in late.json()["error"]["message"]
    assert "urgency: 3 → 5" in late.json()["error"]["message"]


def test_a_deletion_too(house: House, ada: APIClient) -> None:
    path = f"{ALPHA}?version=1&reason=test"
    assert ada.delete(path, headers={"If-Match": '"1-old"'}).status_code == 412
    assert ada.delete(path, headers={"If-Match": ada.get(ALPHA)["ETag"]}).status_code == 204


def test_a_switch_that_somebody_has_pulled_meanwhile(house: House, ada: APIClient) -> None:
    tag = ada.get("/api/v1/pause/")["ETag"]
    assert ada.put("/api/v1/pause/", {"reason": "first"}).status_code == 200
    late = ada.put("/api/v1/pause/", {"reason": "second"}, headers={"If-Match": tag})
    assert late.status_code == 412
    assert ada.get("/api/v1/pause/").json()["pauses"][0]["reason"] == "first"


def test_what_must_not_be_there_yet(house: House, ada: APIClient) -> None:
    assert ada.patch(ALPHA, URGENT, headers={"If-None-Match": "*"}).status_code == 412
    assert Project.objects.get(code="alpha").urgency == 3


def test_nothing_to_read_matches_nothing(house: House, ada: APIClient) -> None:
    """There is no GET at this address."""
    answer = ada.post("/api/v1/checkpoints/", {"job_id": "88"}, headers={"If-Match": "*"})
    assert answer.status_code == 412


@pytest.mark.parametrize(
    ("tag", "header", "weakly", "strongly"),
    [
        ('"a"', '"a"', True, True),
        ('"a"', '"b", "a"', True, True),
        ('"a"', 'W/"a"', True, False),
        ('W/"a"', 'W/"a"', True, False),
        ('"a"', "*", True, True),
        ("", "*", False, False),
        ('"a"', "", False, False),
        ('"a"', "a", False, False),
        ('"a"', '"a', False, False),
    ],
)
def test_how_tags_are_compared(tag: str, header: str, weakly: bool, strongly: bool) -> None:
    assert is_one_of(tag, header) == weakly
    assert is_one_of(tag, header, weakly=False) == strongly
