"""Of many lanes those that the chart shows at first: the same as they are among all, and nothing of the others."""

from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from rest_framework.test import APIClient

from console.cluster.models import Job, JobPhase, JobRun
from console.core import clock
from console.reports.lanes import Lane, lanes_of_rows
from console.steering.models import Checkpoint
from tests import factories
from tests.api.conftest import House
from tests.factories import EPOCH, NOW

AT = "/api/v1/partitions/x/lanes/"
NODES, ROWS = 80, 20


@pytest.fixture(autouse=True)
def _noon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clock, "now", lambda: NOW)


def told(client: APIClient, **asked: int) -> dict[str, Any]:
    answer = client.get(AT, asked)
    assert answer.status_code == 200, answer.content
    return dict(answer.json())


def of_some(whole: dict[str, Any], lanes: int) -> dict[str, Any]:
    """What there is to be told of the first lanes, taken from what is told of all."""
    bars = [bar for bar in whole["bars"] if bar["lanes"][0] < lanes]
    jobs = {bar["job"] for bar in bars}
    marks = {key: [mark for mark in whole[key] if mark["job"] in jobs] for key in ("stops", "checkpoints")}
    return whole | marks | {"bars": bars, "left_out": 0, "unplaced": 0, "of_lanes": lanes}


def in_order(lanes: dict[str, Any]) -> dict[str, Any]:
    return lanes | {"bars": sorted(lanes["bars"], key=lambda bar: (bar["job"], bar["start"], bar["kind"]))}


def on(*nodes: int) -> dict[str, Any]:
    """Where a job is."""
    alloc = {f"m{node:02d}": {"cpu": 1} for node in nodes}
    return {"alloc": alloc, "on_node": next(iter(alloc)) if len(nodes) == 1 else ""}


@pytest.fixture
def busy(house: House) -> House:
    """80 nodes without a unit, and on the first and the last ones something of everything."""
    cluster = house.cluster
    cluster.nodes.all().delete()
    for number in range(NODES):
        factories.make_node(cluster, f"m{number:02d}")
    Job.objects.filter(job_id="88").update(**on(3))
    for number, place in enumerate([(0,), (18, 70), (70, 79), (75,)]):
        job = str(200 + number)
        factories.make_running_job(cluster, job, time_limit_s=900, **on(*place))
        ends = {"end_low": EPOCH + 60, "end_p50": EPOCH + 600, "end_high": EPOCH + 900, "renewed": EPOCH}
        factories.make_forecast(cluster, job, start=EPOCH - 300, **ends)
        factories.make_action(house.plan, job_id=job, state="issued", issued_at=NOW)
        Checkpoint.objects.create(
            plan=house.plan, cluster=cluster, job_id=job, run_start=EPOCH - 300, run_restarts=0, user="bob",
            asked_at=NOW, acknowledged_at=NOW - timedelta(seconds=10), saved="epoch=1",
        )  # fmt: skip
        over, names = str(300 + number), [f"m{node:02d}" for node in place]
        factories.make_job(cluster, over, phase=JobPhase.ENDED)
        JobRun.objects.create(
            cluster=cluster, job_id=over, start=EPOCH - 900, restarts=0, ended=EPOCH - 600, nodes=names
        )
        factories.make_expected_start(factories.make_job(cluster, str(400 + number)), in_s=300, nodes=names)
    factories.make_expected_start(factories.make_job(cluster, "499"), in_s=300, nodes=[])
    return house


def test_what_is_on_the_first_lanes_is_told_as_it_is_among_all(busy: House, ada: APIClient) -> None:
    whole, part = told(ada), told(ada, rows=ROWS)
    assert (whole["of_lanes"], whole["unplaced"], len(whole["lanes"])) == (None, 2, NODES)
    assert in_order(part) == in_order(of_some(whole, ROWS))
    assert {bar["job"] for bar in part["bars"]} >= {"88", "200", "201", "300", "301", "400", "401"}
    assert not {bar["job"] for bar in part["bars"]} & {"202", "203", "302", "303", "402", "403"}
    [on_two] = [bar for bar in part["bars"] if bar["job"] == "201"]
    assert on_two["lanes"] == [18, 70], "with its other lanes"
    assert {mark["job"] for key in ("stops", "checkpoints") for mark in part[key]} == {"88", "200", "201"}


def test_it_is_so_after_each_change(busy: House, ada: APIClient) -> None:
    def same() -> dict[str, Any]:
        part = told(ada, rows=ROWS)
        assert in_order(part) == in_order(of_some(told(ada), ROWS))
        return part

    before = same()
    Job.objects.filter(job_id="202").update(**on(1, 2), fingerprint="moved")
    Job.objects.filter(job_id="201").update(**on(70), fingerprint="moved away")
    Job.objects.filter(job_id="200").update(name="renamed", user_level=0, fingerprint="renamed")
    after = same()
    assert {bar["job"] for bar in after["bars"]} == {bar["job"] for bar in before["bars"]} - {"201"} | {"202"}
    Job.objects.filter(job_id="200").delete()
    busy.cluster.nodes.filter(name="m05").delete()
    factories.make_node(busy.cluster, "m99")
    assert "200" not in {bar["job"] for bar in same()["bars"]}
    busy.cluster.nodes.update(unit="leaf1")
    assert told(ada, rows=ROWS)["of_lanes"] is None, "one row has them all"
    busy.cluster.nodes.filter(name__gt="m60").delete()
    assert told(ada, rows=ROWS) == told(ada)


def test_queries_do_not_grow_with_what_there_is(busy: House, ada: APIClient) -> None:
    told(ada, rows=ROWS)  # what a process asks once
    with CaptureQueriesContext(connection) as few:
        told(ada, rows=ROWS)
    for number in range(5):
        factories.make_running_job(busy.cluster, str(600 + number), **on(number))
        factories.make_running_job(busy.cluster, str(700 + number), **on(number, number + 1))
    with CaptureQueriesContext(connection) as many:
        told(ada, rows=ROWS)
    assert len(few) <= len(many) <= len(few) + 1 <= 17, "jobs on several nodes that are new are read together"


@pytest.mark.parametrize("rows", ["0", "-1", "²", "1000", "all", ""])
def test_a_number_of_rows_without_sense_is_refused(house: House, ada: APIClient, rows: str) -> None:
    answer = ada.get(AT, {"rows": rows})
    assert answer.status_code == 400
    assert "whole number" in str(answer.json())


def lanes(*units: str) -> list[Lane]:
    return [Lane(f"n{number}", True, "IDLE", "8 a100", unit) for number, unit in enumerate(units)]


def test_a_unit_is_one_row_and_a_node_in_none_is_one_too() -> None:
    many = lanes(*["a"] * 30, *["b"] * 30, *[""] * 10)
    assert [lanes_of_rows(many, rows) for rows in (1, 2, 3, 11, 12, 13)] == [30, 60, 61, 69, None, None]
    assert lanes_of_rows(many[:64], 1) is None, "so few are told at once"
    two = [*lanes(*["a"] * 40), *(lane._replace(group="4 a100") for lane in lanes(*["a"] * 40))]
    assert lanes_of_rows(two, 1) == 40, "units of the same name of two kinds"
