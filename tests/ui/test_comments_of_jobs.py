"""Who is elastic, by its comment: on the job's page, in My jobs and in the API; and what is not understood."""

from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from console.cluster.elastic import WorkerCounter
from console.cluster.models import Job
from tests import factories
from tests.ui.conftest import House, SignedIn


def array(house: House, comment: str, *phases: str, array: str = "41", **facts: Any) -> list[Job]:
    return [
        factories.make_job(
            house.cluster, f"{array}_{task}", user="eve", phase=phase, comment=comment, start=9,
            **{"group": array, **facts},
        )
        for task, phase in enumerate(phases)
    ]  # fmt: skip


def said(house: House, job: Job) -> tuple[str, int | None]:
    told = WorkerCounter(house.cluster).said_of(job)
    return str(told.range), told.workers


def test_workers_are_the_nodes_of_a_job_of_several_nodes(house: House) -> None:
    job = factories.make_job(
        house.cluster, "40", phase="running", start=9, comment="elastic:min=2,wish=4",
        alloc={"n1": {"cpu": 1}, "n2": {"cpu": 1}, "n3": {"cpu": 1}},
    )  # fmt: skip
    assert said(house, job) == ("2 to 4 workers (from its comment), 3 now", 3)


def test_workers_are_the_running_tasks_of_an_array(house: House) -> None:
    tasks = array(house, "elastic:min=2", "running", "running", "pending", "ended")
    array(house, "elastic:min=2", "running", array="411")
    assert [said(house, task) for task in tasks] == [("at least 2 workers (from its comment), 2 now", 2)] * 4


def test_workers_are_the_jobs_of_a_group_of_one_account(house: House) -> None:
    comment = "elastic:min=1,wish=9 group=train"
    first, _second = (
        factories.make_job(
            house.cluster, number, user="eve", phase="running", start=9, comment=comment, group="train@eve/"
        )
        for number in ("50", "51")
    )
    others = {"52": {"group": "train@eve/other"}, "53": {"user": "bob"}, "54": {"group": "train2@eve/"}}
    for number, facts in others.items():
        factories.make_job(
            house.cluster,
            number,
            **(
                {"user": "eve", "phase": "running", "start": 9, "comment": comment, "group": "train@eve/"}
                | facts
            ),
        )
    assert said(house, first)[1] == 2


def test_a_waiting_job_has_no_workers_and_a_rigid_one_says_nothing(house: House) -> None:
    waits = factories.make_job(house.cluster, "60", phase="pending", comment="elastic:min=2,wish=4")
    assert said(house, waits) == ("2 to 4 workers (from its comment)", None)
    wrong = factories.make_job(house.cluster, "61", phase="running", start=9, comment="elastic:min=5,wish=4")
    assert said(house, wrong) == ("", None)


@pytest.mark.parametrize(
    ("language", "words"),
    [
        ("en", ["2 to 4 workers (from its comment), 1 now", "tasks of its array"]),
        ("zh-hans", ["2 到 4 个工作实例"]),
    ],
)
def test_the_jobs_page_shows_it(house: House, ada: Client, language: str, words: list[str]) -> None:
    array(house, "elastic:min=2,wish=4,how=tasks partial=<b>", "running")
    page = ada.get("/jobs/41_0/", headers={"accept-language": language}).content.decode()
    assert all(word in page for word in words)
    assert "partial=&lt;b&gt;" in page and "partial=<b>" not in page, "a user's words stay a user's words"


def test_my_jobs_shows_each_array_once_and_every_fault(house: House, signed_in: SignedIn) -> None:
    house.people["vera"].cluster_user = "eve"
    house.people["vera"].save()
    array(house, "elastic:min=2,wish=4", "running", "running")
    factories.make_job(house.cluster, "62", user="eve", phase="pending", comment="elastic:min=5,wish=4")
    page = signed_in("vera").get("/my-jobs/").content.decode()
    assert page.count("2 to 4 workers (from its comment), 2 now") == 1
    assert (
        "elastic: min=5 is more than wish=4; make min the smaller one. The job counts as not elastic." in page
    )


def test_the_api_tells_it_with_one_query_for_all_jobs_of_a_user(house: House, ada: Client) -> None:
    array(house, "elastic:min=2,how=restart group=größe", "running")
    rows = {row["job_id"]: row for row in ada.get("/api/v1/jobs/").json()["results"]}
    assert rows["41_0"]["elastic"] == {
        "min": 2,
        "wish": None,
        "now": 1,
        "how": "restart",
        "said_by": "comment",
    }
    assert rows["41_0"]["comment_faults"][0].startswith("group=größe is no name of a group")
    assert rows["88"]["elastic"] is None and rows["88"]["comment_faults"] == []
    counts = []
    for more in (1, 8):
        array(house, "elastic:min=2", *["running"] * more, array=f"9{more}")
        with CaptureQueriesContext(connection) as queries:
            ada.get("/api/v1/jobs/")
        counts.append(len(queries))
    assert counts[0] == counts[1]
