"""My jobs over the API: mine and nobody else's, with what I wait for, my levels and my quotas."""

from datetime import timedelta
from typing import Any

from django.utils import timezone
from pytest_django import DjangoAssertNumQueries
from rest_framework.test import APIClient

from console.cluster.models import Job
from tests import factories
from tests.api.conftest import House


def mine(house: House, client: APIClient, user: str, **query: str) -> dict[str, Any]:
    """What the administrator is answered while `user` is her name on the cluster."""
    house.people["ada"].cluster_user = user
    house.people["ada"].save()
    answer: dict[str, Any] = client.get("/api/v1/my-jobs/", query).json()
    return answer


def test_it_has_my_jobs_levels_and_quotas_and_nobody_elses(
    house: House, ada: APIClient, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    factories.make_job(house.cluster, "103", user="ann", place=9)
    factories.make_job(house.cluster, "104", user="ann", place=2)
    for job_id in ("600", "601"):
        factories.make_running_job(house.cluster, job_id, user="ann", task_level=0)
    with django_assert_max_num_queries(25):
        found = mine(house, ada, "ann")
    assert (found["user"], found["more"], found["stopped"]) == ("ann", 0, [])
    assert [(job["job_id"], job["place"]) for job in found["waiting"]] == [("101", 1), ("104", 2), ("103", 9)]
    assert found["waiting"][0]["explain"].startswith("101 (ann, P0) needs 4 cpu")
    assert {job["job_id"] for job in found["running"]} == {"600", "601"}
    [x, _] = found["partitions"]
    assert (x["name"], x["mode"]) == ("x", "user_then_task")
    [standing] = x["standings"]
    assert (standing["project"], standing["level"]) == ("alpha", {"rank": 0, "name": "P0"})
    assert standing["origin"] == "alpha: 40 ÷ 1 × 3 = 120 → P0"
    assert standing["tasks"] == [{"pattern": "alpha_eval*", "rank": 0, "name": "P0"}]
    assert x["quotas"][0] == {
        "user": "ann",
        "level": "P0",
        "rank": 0,
        "resource": "jobs",
        "used": 2,
        "limit": 1,
        "full": True,
    }
    assert ada.get("/api/v1/my-jobs/?user=bob").status_code == 400, "nothing in the address says who I am"


def test_a_stopped_job_says_for_whom_and_when_it_comes_back(house: House, ada: APIClient) -> None:
    stop = house.plan.actions.get(kind="requeue_hold")
    stop.state, stop.issued_at = "verified", timezone.now() - timedelta(minutes=3)
    stop.save()
    Job.objects.filter(job_id="88").update(phase="pending", start=0, alloc={}, held=True, restarts=1)
    [stopped] = mine(house, ada, "bob")["stopped"]
    assert (stopped["job_id"], stopped["for_job"], stopped["for_user"]) == ("88", "101", "ann")
    assert stopped["plan"] == house.plan.pk
    assert "It is held until 101 (ann) runs" in stopped["comes_back"]["text"]
    assert mine(house, ada, "carol")["stopped"] == []
