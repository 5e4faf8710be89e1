"""Whom it measures, when, how many at once; and that it makes room for anybody."""

from datetime import timedelta
from typing import Any

import pytest
from pytest_django import Settings

from console.cluster.models import Node
from console.core import clock
from console.power.figures import NewReading, record
from console.power.measuring import ask, devices_of, make_room, measure, script_of, withdraw
from console.power.models import Cause, Measurement, MeasurementState, PowerReading, Source
from console.power.selectors import MEASURE, open_measurements, without_measurements
from console.power.tokens import read_token
from scheduler.model.jobs import JobState, ObservedJob
from scheduler.model.observation import Observation, ObservedPartition
from scheduler.ports import BenchmarkRefusedError, ClusterUnavailableError
from tests import factories
from tests.builders import observed
from tests.power.conftest import Site


def round_of(site: Site) -> list[str]:
    return [row.node for row in measure(site.partition.cluster, site.bench)]


def nothing() -> None:
    """Nobody else steers."""


def finish(site: Site, state: str = MeasurementState.DONE) -> None:
    Measurement.objects.filter(state=MeasurementState.SUBMITTED).update(state=state, ended_at=clock.now())


def test_every_node_is_measured_once_never_more_than_allowed_at_a_time(site: Site) -> None:
    measured = []
    for _ in range(6):
        measured += round_of(site)
        assert round_of(site) == [], "one at a time"
        finish(site)
    assert measured == ["n1", "n2", "n3", "n4"]
    assert {each.amount for each in site.bench.submitted} == {2}
    assert {each.name for each in site.bench.submitted} == {MEASURE}


def test_only_idle_nodes_are_measured(site: Site) -> None:
    Node.objects.filter(name="n1").update(used={"cpu": 1}, state="MIXED")
    Node.objects.filter(name="n2").update(state="IDLE+CLOUD+POWERED_DOWN")
    Node.objects.filter(name="n3").update(up=False, state="DRAINED")
    assert round_of(site) == ["n4"]


@pytest.mark.parametrize(
    ("fields", "measures"),
    [
        ({}, False),
        ({"held": True}, True),
        ({"reason": "blocked"}, True),
        # Put off until there are figures, which it must not keep from coming; else Slurm would start it.
        ({"reason": "not_measured", "slurm_reason": "BeginTime"}, True),
        ({"reason": "not_measured", "slurm_reason": "Resources"}, False),
        ({"reason": "no_even_set", "slurm_reason": "BeginTime"}, False),
    ],
)
def test_nothing_is_measured_while_a_job_waits_for_room(
    site: Site, fields: dict[str, Any], measures: bool
) -> None:
    factories.make_job(site.partition.cluster, partition="x", phase="pending", **fields)
    assert bool(round_of(site)) is measures


def test_old_figures_are_measured_anew_and_failures_are_not_tried_at_once(site: Site) -> None:
    for number in range(1, 5):
        record(site.partition.cluster, [NewReading(f"n{number}", "gpu", 0, 3)], Source.MEASURED)
    assert round_of(site) == []
    PowerReading.objects.filter(node="n3").update(taken_at=clock.now() - timedelta(days=31))
    assert round_of(site) == ["n3"]
    assert Measurement.objects.get().cause == Cause.DUE
    finish(site, MeasurementState.FAILED)
    assert round_of(site) == []


def test_a_node_that_is_back_from_a_repair_is_measured_anew(site: Site) -> None:
    for number in range(1, 5):
        record(site.partition.cluster, [NewReading(f"n{number}", "gpu", 0, 3)], Source.MEASURED)
    Node.objects.filter(name="n2").update(up=False, state="DRAINED")
    assert round_of(site) == []
    Node.objects.filter(name="n2").update(up=True, state="IDLE")
    assert round_of(site) == ["n2"]
    assert Measurement.objects.get().cause == Cause.REPAIRED
    finish(site)
    assert round_of(site) == [], "once for each repair"


def test_one_that_says_nothing_in_its_time_has_failed(site: Site) -> None:
    round_of(site)
    Measurement.objects.filter(node="n1").update(submitted_at=clock.now() - timedelta(seconds=719))
    assert round_of(site) == []
    Measurement.objects.filter(node="n1").update(submitted_at=clock.now() - timedelta(seconds=721))
    assert round_of(site) == ["n2"]
    assert Measurement.objects.get(node="n1").outcome == "It told no result in its time."


def test_what_slurm_refuses_is_told_and_the_next_has_its_turn(site: Site) -> None:
    site.bench.fault = BenchmarkRefusedError("Invalid partition specified")
    round_of(site)
    failed = Measurement.objects.get(state=MeasurementState.FAILED)
    assert (failed.node, failed.outcome) == ("n1", "Invalid partition specified")


def test_without_an_answer_of_slurm_it_may_run_and_counts_until_it_is_late(site: Site) -> None:
    site.bench.fault = ClusterUnavailableError("sbatch did not answer within 20 s")
    assert round_of(site) == []
    site.bench.fault = None
    assert round_of(site) == [], "the first may be under way"
    assert site.states()["n1"] == [MeasurementState.SUBMITTED]


def test_a_benchmark_that_cannot_be_read_is_told(site: Site, settings: Settings) -> None:
    settings.GIVEWAY_BENCHMARK_GPU = "/nowhere/gpu.sh"
    round_of(site)
    assert "/nowhere/gpu.sh: No such file" in Measurement.objects.get(state=MeasurementState.FAILED).outcome


def test_switched_off_it_ends_what_runs(site: Site) -> None:
    round_of(site)
    site.rule.enabled = False
    site.rule.save()
    assert round_of(site) == []
    assert site.bench.ended == ["901"]
    assert not open_measurements(site.partition.cluster)


def test_processors_of_a_node_are_measured_together_gpus_one_by_one(site: Site) -> None:
    assert [devices_of(site.nodes[0], name) for name in ("cpu", "gpu", "tpu")] == [1, 2, 0]
    site.rule.resource = "cpu"
    site.rule.save()
    round_of(site)
    assert site.bench.submitted[0].amount == 0


def test_its_script_carries_the_sites_benchmark_and_a_token_of_its_own(site: Site) -> None:
    (row,) = ask(site.partition.cluster, site.rule, site.nodes[:1], Cause.ASKED, by="ada")
    script = script_of(row)
    assert "url='http://console.test'" in script
    assert "devices=2" in script
    assert read_token(script.split("token='")[1].split("'")[0]) == row.pk
    assert "@" not in script.replace('"@$said', "")


def seen(site: Site, *jobs: ObservedJob) -> Observation:
    names = tuple(node.name for node in site.nodes)
    return Observation("sim", 1_700_000_000, partitions=(ObservedPartition("x", "UP", names),), jobs=jobs)


def job(job_id: str, state: JobState, **fields: Any) -> ObservedJob:
    return observed(job_id, state, partitions=("x",), **fields)


def test_it_makes_room_for_any_job_that_could_start_and_is_repeated_later(site: Site) -> None:
    round_of(site)
    ours = job("901", JobState.RUNNING, name=MEASURE, alloc={"n1": {"cpu": 8}})
    cluster = site.partition.cluster
    assert make_room(cluster, seen(site, ours), site.bench, nothing) == 0
    assert (
        make_room(cluster, seen(site, ours, job("5", JobState.PENDING, held=True)), site.bench, nothing) == 0
    )
    assert make_room(cluster, seen(site, ours, job("5", JobState.PENDING)), site.bench, nothing) == 1
    assert site.bench.ended == ["901"]
    assert site.states()["n1"] == [MeasurementState.ASKED, MeasurementState.WITHDRAWN]
    assert Measurement.objects.get(node="n1", state=MeasurementState.ASKED).cause == Cause.REPEATED


@pytest.mark.parametrize(
    ("reason", "put_off", "ended"),
    [("not_measured", True, 0), ("not_measured", False, 1), ("no_even_set", True, 1)],
)
def test_nothing_is_ended_for_a_job_that_waits_for_its_figure(
    site: Site, reason: str, put_off: bool, ended: int
) -> None:
    round_of(site)
    ours = job("901", JobState.RUNNING, name=MEASURE, alloc={"n1": {"cpu": 8}})
    waits = job("5", JobState.PENDING, to_be_placed=put_off)
    cluster = site.partition.cluster
    factories.make_job(cluster, "5", partition="x", phase="pending", reason=reason)
    assert make_room(cluster, seen(site, ours, waits), site.bench, nothing) == ended


def test_one_that_slurm_did_not_end_is_ended_by_the_next_cycle(site: Site) -> None:
    round_of(site)
    cluster = site.partition.cluster
    look = seen(site, job("901", JobState.RUNNING, name=MEASURE), job("5", JobState.PENDING))
    site.bench.is_deaf = True
    with pytest.raises(ClusterUnavailableError):
        make_room(cluster, look, site.bench, nothing)
    site.bench.is_deaf = False
    assert make_room(cluster, look, site.bench, nothing) == 1
    assert site.bench.ended == ["901"]
    gone = seen(site, job("901", JobState.COMPLETING, name=MEASURE), job("5", JobState.PENDING))
    assert make_room(cluster, gone, site.bench, nothing) == 0


def test_the_planner_takes_a_measurement_for_a_job_that_is_ending(site: Site) -> None:
    round_of(site)
    cluster = site.partition.cluster
    ours, theirs = job("901", JobState.RUNNING, name=MEASURE), job("7", JobState.RUNNING, name=MEASURE)
    planned = {each.id: each.state for each in without_measurements(cluster, seen(site, ours, theirs)).jobs}
    assert planned == {"901": JobState.COMPLETING, "7": JobState.RUNNING}, "anybody may call a job like that"


def test_a_withdrawn_measurement_is_not_ended_twice(site: Site) -> None:
    round_of(site)
    rows = open_measurements(site.partition.cluster)[:1]
    withdraw(site.partition.cluster, site.bench, rows)
    withdraw(site.partition.cluster, site.bench, rows)
    assert site.bench.ended == ["901"]
