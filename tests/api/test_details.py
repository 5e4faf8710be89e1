"""What single objects tell, and that hostile names stay names."""

from collections.abc import Callable

import pytest
from rest_framework.test import APIClient

from console.steering.failures import Streak, written
from console.steering.models import CycleMeter
from tests import factories
from tests.api.conftest import SNAPSHOT, House
from tests.factories import EPOCH

NOTHING_MORE = {"one_request": False, "elastic_min": None, "elastic_wish": None}

HOSTILE = [
    "<script>alert(1)</script>",
    '"; DROP TABLE jobs; --',
    "=cmd|' /C calc'!A0",
    "\u202egnirts \u0007 bell",
    "line\nbreak\\u0000",
    "😀 ' \" \\",
    "{{ 7*7 }} {% load x %}",
]


def test_a_job_tells_its_levels_where_they_come_from_and_the_verdict(house: House, ada: APIClient) -> None:
    job = ada.get("/api/v1/jobs/101/").json()
    assert job["user_level"] == {"rank": 0, "name": "P0", "origin": "alpha: 40 / 1 * 3 = 120"}
    assert job["task_level"] == {"rank": 1, "name": "P1", "origin": "keyword p1"}
    assert (job["verdict"], job["reason"], job["place"], job["plan"]) == ("preempt", "lower_user", 1, None)
    assert (job["line_place"], job["line_ordered"], job["own_priority"], job["keeps_place"]) == (
        None, False, None, False,
    )  # fmt: skip
    assert job["explain"].startswith("101 (ann, P0) needs 4 cpu")
    assert (job["submitted_at"], job["started_at"]) == ("2026-03-02T11:50:00Z", None)


def test_a_running_job_says_since_when_and_where(house: House, ada: APIClient) -> None:
    job = ada.get("/api/v1/jobs/88/").json()
    assert (job["started_at"], job["alloc"], job["place"]) == (
        "2026-03-02T11:55:00Z",
        {"n1": {"cpu": 4}},
        None,
    )
    assert job["user_level"]["rank"] is None


def test_a_job_that_waits_in_two_partitions_is_asked_for_in_either(house: House, ada: APIClient) -> None:
    wanted = [("", "x"), ("?partition=x", "x"), ("?partition=y", "y")]
    assert [ada.get(f"/api/v1/jobs/102/{query}").json()["partition"] for query, _ in wanted] == [
        p for _, p in wanted
    ]
    assert ada.get("/api/v1/jobs/102/?partition=z").status_code == 404


@pytest.mark.parametrize("job_id", ["1234_7", "1234+1", "77_[1-9%2]"])
def test_arrays_and_het_jobs_are_found_by_slurms_own_ids(house: House, ada: APIClient, job_id: str) -> None:
    from urllib.parse import quote

    factories.make_job(house.cluster, job_id)
    assert ada.get(f"/api/v1/jobs/{quote(job_id)}/").json()["job_id"] == job_id


def test_a_plan_tells_whom_it_stops_what_was_done_and_on_what_it_was_decided(
    house: House, ada: APIClient
) -> None:
    plan = ada.get(f"/api/v1/plans/{house.plan.pk}/").json()
    assert plan["victims"] == [
        {
            "job": "88",
            "how": "requeue",
            "name": "p2_train",
            "user": "bob",
            "started_at": "2026-03-02T11:55:00Z",
            "restarts": 0,
            "user_level": "P1",
            "task_level": "unconfigured",
            "resources": "4 cpu",
            "ran_s": 300,
        }
    ]
    assert [(a["kind"], a["job_id"], a["state"]) for a in plan["actions"]] == [
        ("requeue_hold", "88", "planned")
    ]
    assert (plan["state"], plan["cycle"], plan["policy_revision"], plan["placement"]) == (
        "executing",
        7,
        1,
        {"n1": {"cpu": 4}},
    )
    assert ada.get(f"/api/v1/plans/{house.plan.pk}/snapshot/").json() == SNAPSHOT


def test_a_plan_without_a_snapshot_has_none(house: House, ada: APIClient) -> None:
    plan = factories.make_plan(factories.make_cycle(house.cluster, 8), "102", kind="quota", partition="y")
    assert ada.get(f"/api/v1/plans/{plan.pk}/").status_code == 200
    assert ada.get(f"/api/v1/plans/{plan.pk}/snapshot/").status_code == 404


def test_the_cluster_tells_its_cycle_when_it_was_seen_and_what_is_wrong(house: House, ada: APIClient) -> None:
    house.cluster.fault = "squeue: timed out"
    house.cluster.save(update_fields=["fault"])
    cluster = ada.get("/api/v1/cluster/").json()
    assert (cluster["name"], cluster["cycle"], cluster["fault"]) == ("dev", 7, "squeue: timed out")
    assert cluster["observed_at"] == "2026-03-02T12:00:00Z"
    assert cluster["failures"] == []


def test_the_cluster_tells_of_a_cycle_that_failed(house: House, ada: APIClient) -> None:
    what = "console/steering/cycle.py, line 9 (_run): KeyError: 'x'"
    streaks = {
        "": Streak("", what, factories.NOW, in_a_row=2),
        "y": Streak("y", what, factories.NOW, holds=False),
    }
    CycleMeter.objects.create(cluster=house.cluster, failing=written(streaks))
    cluster = ada.get("/api/v1/cluster/").json()
    assert cluster["fault"] == f"The cycle failed in {what}"
    assert cluster["failures"] == [
        {"partition": "", "fault": cluster["fault"], "since": "2026-03-02T12:00:00Z", "in_a_row": 2}
    ]


def test_a_partition_counts_its_jobs_and_shows_its_policy_to_whom_it_concerns(
    house: House, as_person: Callable[[str], APIClient]
) -> None:
    factories.make_job(house.cluster, "ended", phase="ended")
    mine = as_person("dave").get("/api/v1/partitions/x/").json()
    assert mine["jobs"] == {"pending": 2, "running": 1, "completing": 0}
    assert (mine["state"], mine["mode"], mine["enforcement"], mine["revision"]) == (
        "UP",
        "user_then_task",
        "shadow",
        1,
    )
    assert mine["policy"]["policy"]["levels"][0] == {"name": "P0", "min_score": 60, "keyword": "p0"}
    assert as_person("dave").get("/api/v1/partitions/y/").json()["policy"] is None
    assert as_person("vera").get("/api/v1/partitions/x/").json()["policy"] is None
    assert as_person("otto").get("/api/v1/partitions/y/").json()["policy"]["policy"]["mode"] == "task"


def test_a_partition_that_nobody_has_seen_yet_is_shown(house: House, ada: APIClient) -> None:
    factories.make_partition(house.cluster, "soon")
    soon = ada.get("/api/v1/partitions/soon/").json()
    assert (soon["state"], soon["jobs"]) == ("", {"pending": 0, "running": 0, "completing": 0})


def test_a_project_tells_its_score_and_people(house: House, ada: APIClient) -> None:
    project = ada.get("/api/v1/projects/alpha/").json()
    assert (project["score"], project["members"], project["managers"]) == (120.0, ["ann", "bob"], ["pam"])
    assert project["tasks"] == [{"pattern": "alpha_eval*", "importance": 2.0, "level": None, **NOTHING_MORE}]


@pytest.mark.parametrize("text", HOSTILE)
def test_a_hostile_name_comes_back_as_the_text_it_is(house: House, ada: APIClient, text: str) -> None:
    factories.make_job(house.cluster, "666", name=text, comment=text, submit=EPOCH)
    response = ada.get("/api/v1/jobs/666/")
    assert response["Content-Type"] == "application/json"
    assert response["X-Content-Type-Options"] == "nosniff"
    assert (response.json()["name"], response.json()["comment"]) == (text, text)
