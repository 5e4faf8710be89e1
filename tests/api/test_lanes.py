"""A partition's lanes over the API: what is drawn, from when to when, how many queries that takes."""

import gzip
import json
from collections.abc import Iterable
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from rest_framework.test import APIClient

from console.cluster.models import Job, JobPhase, JobRun
from console.core import clock
from console.forecasts.models import JobForecast
from console.reports import lane_bars
from console.reports.lanes import BadWindowError, LaneWindow
from console.steering.models import Checkpoint, KeptPlace, PlannedAction
from tests import factories
from tests.api.conftest import House
from tests.factories import EPOCH, NOW

AT = "/api/v1/partitions/x/lanes/"


@pytest.fixture(autouse=True)
def _noon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clock, "now", lambda: NOW)


def told(client: APIClient, **window: int) -> dict[str, Any]:
    answer = client.get(AT, {key.strip("_"): value for key, value in window.items()})
    assert answer.status_code == 200, answer.content
    return dict(answer.json())


def bar(lanes: dict[str, Any], job: str, kind: str) -> dict[str, Any]:
    [found] = [each for each in lanes["bars"] if (each["job"], each["kind"]) == (job, kind)]
    return dict(found)


def make_run(
    house: House, job_id: str, start: int, ended: int | None, *nodes: str, restarts: int = 0
) -> None:
    JobRun.objects.create(
        cluster=house.cluster, job_id=job_id, start=start, restarts=restarts, ended=ended, nodes=list(nodes)
    )


def test_the_frame_says_whose_lanes_they_are_and_when(house: House, ada: APIClient) -> None:
    factories.make_node(house.cluster, "n10")
    factories.make_node(house.cluster, "c1", total={"cpu": 64}, up=False, state="DOWN")
    lanes = told(ada)
    assert (lanes["schema"], lanes["partition"], lanes["levels"]) == ("giveway.lanes/1", "x", ["P0", "P1"])
    assert (lanes["now"], lanes["start"], lanes["end"]) == (EPOCH, EPOCH - 1800, EPOCH + 1800)
    assert lanes["observed"] == EPOCH
    assert [lane["name"] for lane in lanes["lanes"]] == ["n1", "n10", "c1"], (
        "kinds together, numbers as numbers"
    )
    assert lanes["lanes"][2] == {"name": "c1", "up": False, "state": "DOWN", "group": "64 cpu", "unit": ""}
    assert (lanes["left_out"], lanes["unplaced"]) == (0, 0)


def test_a_running_job_ends_as_its_plan_its_forecast_or_its_limit_says(house: House, ada: APIClient) -> None:
    cluster = house.cluster
    factories.make_running_job(cluster, "89", time_limit_s=900, user_level=1)
    factories.make_running_job(cluster, "90")
    factories.make_running_job(cluster, "91")
    ends = {"end_low": EPOCH + 60, "end_p50": EPOCH + 600, "end_high": EPOCH + 900, "renewed": EPOCH}
    factories.make_forecast(cluster, "91", start=EPOCH - 300, **ends)
    factories.make_running_job(cluster, "92", partition="y")
    factories.make_running_job(cluster, "93", phase=JobPhase.COMPLETING)
    lanes = told(ada)
    stopped = bar(lanes, "88", "running")
    assert (stopped["end"], stopped["end_by"], stopped["user"]) == (EPOCH + 30, "stop", "bob")
    limited = bar(lanes, "89", "running")
    assert (limited["end"], limited["end_by"], limited["level"], limited["low"]) == (
        EPOCH + 600,
        "limit",
        1,
        None,
    )
    open_end = bar(lanes, "90", "running")
    assert (open_end["end"], open_end["end_by"], open_end["level"]) == (None, "", None)
    forecast = bar(lanes, "91", "running")
    assert (forecast["end"], forecast["end_by"]) == (EPOCH + 600, "forecast")
    assert (forecast["low"], forecast["high"]) == (EPOCH + 60, EPOCH + 900)
    assert bar(lanes, "93", "running")["end_by"] == "known"
    assert "92" not in {each["job"] for each in lanes["bars"]}, "that one is y's"


def test_a_job_is_on_each_of_its_nodes_that_the_partition_has(house: House, ada: APIClient) -> None:
    factories.make_node(house.cluster, "n3")
    on_three = {"n1": {"cpu": 1}, "n3": {"cpu": 1}, "n2": {"cpu": 1}}  # n2 is y's
    factories.make_running_job(house.cluster, "89", alloc=on_three)
    factories.make_running_job(house.cluster, "90", alloc={"n3": {"cpu": 1}}, on_node="n3")
    factories.make_running_job(house.cluster, "91", alloc={"n2": {"cpu": 1}}, on_node="n2")
    lanes = told(ada)
    assert (bar(lanes, "89", "running")["lanes"], bar(lanes, "90", "running")["lanes"]) == ([0, 1], [1])
    assert "91" not in {each["job"] for each in lanes["bars"]}


def test_runs_that_are_over_stand_where_they_began(house: House, ada: APIClient) -> None:
    cluster = house.cluster
    factories.make_node(cluster, "n3")
    factories.make_job(cluster, "70", phase=JobPhase.ENDED, user_level=0, user="ann")
    make_run(house, "70", EPOCH - 4000, EPOCH - 600, "n1", "n3")
    make_run(house, "70", EPOCH - 9000, EPOCH - 5000, "n1")
    make_run(house, "71", EPOCH - 900, EPOCH - 600, "n1")  # nobody knows its partition
    lanes = told(ada)
    over = bar(lanes, "70", "over")
    assert (over["start"], over["end"], over["lanes"], over["level"]) == (
        EPOCH - 4000,
        EPOCH - 600,
        [0, 1],
        0,
    )
    assert "71" not in {each["job"] for each in lanes["bars"]}
    before = told(ada, from_=EPOCH - 8000, to=EPOCH - 3900)
    assert sorted(each["start"] for each in before["bars"] if each["job"] == "70") == [
        EPOCH - 9000,
        EPOCH - 4000,
    ]


def test_who_is_expected_and_who_gets_room(house: House, ada: APIClient) -> None:
    cluster = house.cluster
    job = factories.make_job(cluster, "103", time_limit_s=3600, explain="waits for 4 cpu", user_level=1)
    factories.make_expected_start(job, in_s=600, nodes=["n1"])
    late = factories.make_job(cluster, "104")
    factories.make_expected_start(late, in_s=7200, nodes=["n1"])
    somewhere = factories.make_job(cluster, "105")
    factories.make_expected_start(somewhere, in_s=60)
    lanes = told(ada)
    expected = bar(lanes, "103", "expected")
    assert (expected["start"], expected["end"], expected["end_by"]) == (EPOCH + 600, EPOCH + 4200, "limit")
    assert (expected["low"], expected["high"], expected["why"]) == (
        EPOCH + 900,
        EPOCH + 7200,
        "waits for 4 cpu",
    )
    planned = bar(lanes, "101", "planned")
    assert (planned["start"], planned["plan"], planned["lanes"]) == (EPOCH, house.plan.pk, [0])
    assert not [each for each in lanes["bars"] if each["job"] in {"104", "105"}]
    assert lanes["unplaced"] == 1


def test_kept_nodes_are_drawn_where_the_policy_has_them_kept(house: House, ada: APIClient) -> None:
    factories.make_job(house.cluster, "103")
    KeptPlace.objects.create(
        cluster=house.cluster, partition="x", job_id="103", user="ann", nodes=["n1"],
        at=EPOCH + 900, since=EPOCH - 60, moved=EPOCH - 60, until=EPOCH + 1000, asked=EPOCH,
    )  # fmt: skip
    assert not [each for each in told(ada)["bars"] if each["kind"] == "kept"]
    factories.put_in_force(house.x, dispatch="managed")
    kept = bar(told(ada), "103", "kept")
    assert (kept["start"], kept["end"], kept["user"]) == (EPOCH - 60, EPOCH + 900, "ann")


def test_stops_lead_to_whom_they_served_and_checkpoints_to_their_run(house: House, ada: APIClient) -> None:
    PlannedAction.objects.update(state="verified", issued_at=NOW - timedelta(seconds=90))
    factories.make_action(house.plan, job_id="89", not_before=NOW + timedelta(seconds=20))
    factories.make_action(house.plan, "signal", job_id="90")
    Checkpoint.objects.create(
        plan=house.plan, cluster=house.cluster, job_id="88", run_start=EPOCH - 300, run_restarts=0, user="bob",
        asked_at=NOW, acknowledged_at=NOW - timedelta(seconds=100), saved="epoch=10",
    )  # fmt: skip
    lanes = told(ada)
    made, aimed = lanes["stops"]
    assert (made["at"], made["job"], made["start"], made["done"]) == (EPOCH - 90, "88", EPOCH - 300, True)
    assert (made["served"], made["served_user"], made["plan"]) == ("101", "ann", house.plan.pk)
    assert (aimed["at"], aimed["job"], aimed["done"]) == (EPOCH + 20, "89", False)
    [saved] = lanes["checkpoints"]
    assert (saved["at"], saved["job"], saved["what"]) == (EPOCH - 100, "88", "epoch=10")
    house.plan.state = "verified"
    house.plan.save()
    assert [stop["job"] for stop in told(ada)["stops"]] == ["88"], "nobody is stopped for a plan that is over"
    assert told(ada, from_=EPOCH - 50, to=EPOCH)["stops"] == []


@pytest.mark.parametrize(
    ("window", "key", "words"),
    [
        ({"from": "yesterday"}, "from", "epoch seconds"),
        ({"to": "-5"}, "to", "epoch seconds"),
        ({"to": "²"}, "to", "epoch seconds"),
        ({"from": "9" * 30}, "from", "epoch seconds"),
        ({"from": "1"}, "from", "within a year"),
        ({"from": str(EPOCH), "to": str(EPOCH)}, "to", "later than"),
        ({"from": str(EPOCH - 9 * 86400), "to": str(EPOCH)}, "to", "8 days"),
        ({"since": "1"}, "since", "No such query parameter"),
    ],
)
def test_a_window_without_sense_is_refused(
    ada: APIClient, window: dict[str, str], key: str, words: str
) -> None:
    answer = ada.get(AT, window)
    assert answer.status_code == 400
    assert words in str(answer.json()) and key in str(answer.json())


def test_one_end_alone_makes_the_other_one(ada: APIClient) -> None:
    ahead = told(ada, from_=EPOCH + 600)
    assert (ahead["start"], ahead["end"]) == (EPOCH + 600, EPOCH + 2400)
    back = told(ada, to=EPOCH - 600)
    assert (back["start"], back["end"]) == (EPOCH - 2400, EPOCH - 600)
    with pytest.raises(BadWindowError):
        LaneWindow.around(EPOCH, EPOCH, EPOCH - 1)


def test_the_same_is_not_sent_twice_and_goes_compressed(
    house: House, ada: APIClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    answer = ada.get(AT, headers={"Accept-Encoding": "gzip"})
    assert answer["Content-Encoding"] == "gzip"
    assert json.loads(gzip.decompress(answer.content))["schema"] == "giveway.lanes/1"
    assert ada.get(AT, headers={"If-None-Match": answer["ETag"]}).status_code == 304
    monkeypatch.setattr(clock, "now", lambda: NOW + timedelta(seconds=6))
    assert ada.get(AT, headers={"If-None-Match": answer["ETag"]}).status_code == 200, "forecasts move"
    elsewhere = ada.get("/api/v1/partitions/z/lanes/", headers={"If-None-Match": "*"})
    assert elsewhere.status_code == 404


def fill(house: House, numbers: Iterable[int]) -> None:
    for i in numbers:
        factories.make_node(house.cluster, f"m{i}")
        factories.make_running_job(house.cluster, str(300 + i), alloc={f"m{i}": {"cpu": 1}})
        factories.make_job(house.cluster, str(400 + i), phase=JobPhase.ENDED)
        make_run(house, str(400 + i), EPOCH - 900, EPOCH - 600, f"m{i}")
        waits = factories.make_job(house.cluster, str(500 + i))
        factories.make_expected_start(waits, in_s=600, nodes=[f"m{i}"])
        factories.make_action(house.plan, job_id=str(300 + i), state="issued", issued_at=NOW)


def test_queries_do_not_grow_with_what_there_is(house: House, ada: APIClient) -> None:
    fill(house, range(2))
    told(ada)  # what a process asks once
    with CaptureQueriesContext(connection) as few:
        told(ada)
    fill(house, range(2, 14))
    with CaptureQueriesContext(connection) as many:
        lanes = told(ada)
    assert (len(lanes["lanes"]), len(lanes["bars"])) == (15, 44)
    assert len(few) <= len(many) <= 15, "jobs that are new are read once more, together"


def test_what_is_beyond_the_bound_is_counted(
    house: House, ada: APIClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(house, range(5))
    monkeypatch.setattr(lane_bars, "MOST_BARS", 3)
    lanes = told(ada)
    kinds = [each["kind"] for each in lanes["bars"]]
    assert (kinds.count("running"), kinds.count("over"), lanes["left_out"]) == (3, 3, 5)


def change_job(job_id: str, **changed: Any) -> None:
    Job.objects.filter(job_id=job_id).update(**changed)


def test_bars_follow_each_change(house: House, ada: APIClient) -> None:
    factories.make_running_job(house.cluster, "89", time_limit_s=900)
    factories.make_running_job(house.cluster, "90", alloc={"n1": {"cpu": 1}}, user_level=0)
    change_job("89", time_limit_s=1200)
    change_job("90", name="renamed", user_level=1)
    assert bar(told(ada), "89", "running")["end"] == EPOCH + 900
    renamed = bar(told(ada), "90", "running")
    assert (renamed["name"], renamed["level"], renamed["lanes"], renamed["end"]) == ("renamed", 1, [0], None)
    ends = {"end_low": EPOCH + 60, "end_p50": EPOCH + 600, "end_high": EPOCH + 900, "renewed": EPOCH}
    factories.make_forecast(house.cluster, "90", start=EPOCH - 300, **ends)
    forecast = bar(told(ada), "90", "running")
    assert (forecast["end"], forecast["end_by"], forecast["low"]) == (EPOCH + 600, "forecast", EPOCH + 60)
    JobForecast.objects.update(end_p50=EPOCH + 700, renewed=EPOCH + 1)
    assert bar(told(ada), "90", "running")["end"] == EPOCH + 700
    factories.make_forecast(house.cluster, "90", submit=EPOCH - 250, start=EPOCH - 300, **ends)
    assert bar(told(ada), "90", "running")["end"] == EPOCH + 600, "it was submitted again"
    change_job("90", start=EPOCH - 200)
    assert bar(told(ada), "90", "running")["end"] is None, "what was said is of another run"
    change_job("90", start=EPOCH - 300)
    JobForecast.objects.update(ended_at=NOW)
    assert bar(told(ada), "90", "running") == renamed
    factories.make_node(house.cluster, "n0")
    moved = told(ada)
    assert [lane["name"] for lane in moved["lanes"]] == ["n0", "n1"]
    assert bar(moved, "90", "running")["lanes"] == [1]
    change_job("90", on_node="n0", alloc={"n0": {"cpu": 1}})
    assert bar(told(ada), "90", "running")["lanes"] == [0]
    Job.objects.filter(job_id="90").delete()
    assert "90" not in {each["job"] for each in told(ada)["bars"]}


def test_what_is_past_and_expected_is_about_to_come(
    house: House, ada: APIClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster = house.cluster
    for number, limit in (("90", 900), ("91", None), ("92", 500)):
        factories.make_running_job(cluster, number, alloc={"n1": {"cpu": 1}}, time_limit_s=limit)
    ends = {"end_low": EPOCH + 60, "end_p50": EPOCH + 600, "end_high": EPOCH + 900, "renewed": EPOCH}
    for number in ("91", "92"):
        factories.make_forecast(cluster, number, start=EPOCH - 300, **ends)
    factories.make_running_job(cluster, "93", phase=JobPhase.COMPLETING)
    waits = factories.make_job(cluster, "103", time_limit_s=3600)
    factories.make_expected_start(waits, in_s=300, nodes=["n1"])
    for later in (0, 1, 59, 60, 61, 199, 200, 300, 301, 599, 600, 601, 900, 1000, 30):
        monkeypatch.setattr(clock, "now", lambda later=later: NOW + timedelta(seconds=later))
        window = {"from_": EPOCH - 1800, "to": EPOCH + 3600}
        lanes = told(ada, **window)
        assert bar(lanes, "91", "running")["end"] == EPOCH + max(600, later + 1)
        assert bar(lanes, "103", "expected")["start"] == EPOCH + max(300, later)


def test_who_looks_at_another_time_sees_what_was_there_then(house: House, ada: APIClient) -> None:
    factories.make_running_job(house.cluster, "90", alloc={"n1": {"cpu": 1}})
    now, hour_ago = told(ada), told(ada, from_=EPOCH - 9000, to=EPOCH - 5000)
    assert "90" in {each["job"] for each in now["bars"]}
    assert "90" not in {each["job"] for each in hour_ago["bars"]}
    assert told(ada) == now


def test_with_or_without_gzip_it_is_the_same(house: House, ada: APIClient) -> None:
    factories.make_running_job(house.cluster, "89", name='a "job" \u2028 with\nmarks', time_limit_s=900)
    plain, packed = ada.get(AT), ada.get(AT, headers={"Accept-Encoding": "gzip"})
    assert plain["Content-Type"] == packed["Content-Type"] == "application/json"
    assert "\u2028" not in plain.content.decode()
    assert json.loads(plain.content) == json.loads(gzip.decompress(packed.content))
    assert bar(plain.json(), "89", "running")["name"] == 'a "job" \u2028 with\nmarks'
    Job.objects.all().delete()
    assert json.loads(gzip.decompress(ada.get(AT, headers={"Accept-Encoding": "gzip"}).content))["bars"] == []
