"""A cluster of NPUs only: whatever counts GPUs elsewhere counts these."""

from typing import Any

import pytest
from django.test import Client

from console.cluster.models import Job, Node
from console.forecasts.requests import size_of
from console.history.hindsight.running import nodes_of
from console.reports.immune import immune_parts
from console.starts.models import StartQuestion
from console.steering.metrics import MeteredStop, _count_work
from scheduler.adapters.slurm import finished
from scheduler.adapters.slurm.benchmarks import SlurmBenchmarks
from scheduler.model.benchmarks import Benchmark
from scheduler.model.resource_kinds import ACCELERATORS, accelerator_of, main_resource
from scheduler.simulate.trace import Machines, TraceRow, fit
from tests import factories
from tests.adapters.slurm.test_finished import LINE, MARK, SINCE, UNTIL, told
from tests.markup import flat
from tests.ui.conftest import House

TOTAL = {"cpu": 8, "npu": 4, "mem": 64000}


@pytest.fixture
def npus(house: House) -> House:
    Node.objects.filter(cluster=house.cluster).update(total=TOTAL, used={"npu": 1})
    Job.objects.filter(job_id="88").update(
        alloc={"n1": {"cpu": 1, "npu": 2}}, immune="interactive", immune_since=1
    )
    house.touch()
    return house


@pytest.mark.parametrize("name", ACCELERATORS)
def test_every_accelerator_is_what_its_nodes_are_counted_by(name: str) -> None:
    total = {"cpu": 8, name: 4}
    assert main_resource(total) == accelerator_of([{"cpu": 8}, total]) == name
    assert Machines(4, total).main == name


def test_forecasts_know_how_many_a_job_holds_and_ran_on(npus: House) -> None:
    running = Job.objects.get(job_id="88")
    assert size_of(running).gpus == 2
    waiting = factories.make_job(npus.cluster, "500", request={"nodes": 2, "per_node": {"cpu": 1, "npu": 4}})
    assert size_of(waiting).gpus == 8
    line = LINE.replace("cpu=4", "cpu=4,gres/npu=3,gres/npu:910b=3")
    assert finished.decode(told(line), MARK, SINCE, UNTIL).runs[0].gpus == 3


def test_work_that_a_stop_destroys_is_measured(npus: House) -> None:
    work: dict[str, Any] = {}
    _count_work(work, MeteredStop("x", {"cpu": 1, "npu": 2}, ran_s=100.0, kept_s=40.0))
    assert work["x"] == {"lost": {"npu": 120.0, "cpu": 60.0}, "saved": {"npu": 80.0, "cpu": 40.0}}


def test_the_immune_part_is_told_of(npus: House) -> None:
    part = immune_parts(npus.cluster, ["x"])["x"]
    assert part.shares == {"npu": 0.25, "cpu": 0.0625}


def test_last_month_is_played_on_them(npus: House) -> None:
    nodes = nodes_of(npus.cluster, "x", 0, 1)
    assert nodes is not None and dict(nodes.machines.per_node) == {"cpu": 8, "npu": 4}
    row: Any = {"submit": 0, "runtime": 10, "nodes": 1, "cpus": 1, "limit": None, "id": "1", "row": 1}
    fields = dict.fromkeys(TraceRow.__dataclass_fields__) | row
    fits, too_large = (fit([TraceRow(**fields | {"gpus": n})], nodes.machines) for n in (4, 5))
    assert [dict(job.amounts) for job in fits.jobs] == [{"cpu": 1, "npu": 4}]
    assert "5 npu" in too_large.left_out[0].why


def test_the_pages_name_them(npus: House, ada: Client) -> None:
    for address in (
        "/",
        "/partitions/x/",
        "/jobs/88/",
        "/forecasts/",
        "/insights/",
        "/partitions/x/timeline/",
    ):
        text = flat(ada.get(address))
        assert "GPU" not in text, address
    assert "NPUs" in flat(ada.get("/partitions/x/"))
    assert "NPUs on each node" in flat(ada.get("/when/"))
    sent = {"partition": "x", "nodes": "1", "cpu": "1", "gpu": "2", "mem_gb": "", "minutes": "5"}
    ada.post("/when/", sent)
    assert StartQuestion.objects.get().request == {"nodes": 1, "per_node": {"cpu": 1, "npu": 2}}


def test_a_measurement_takes_the_nodes_own_kind() -> None:
    asked: list[str] = []

    class Runner:
        def run_with(self, given: str, *arguments: str) -> Any:
            asked.extend(arguments)
            raise AssertionError("enough")

    runner: Any = Runner()
    with pytest.raises(AssertionError):
        SlurmBenchmarks(runner).submit(
            Benchmark("measure", "x", "n1", "#!/bin/sh\n", amount=4, resource="npu")
        )
    assert "--gres=npu:4" in asked
