"""What runs lose to waiting for their slowest processor: the formula, which runs, and the sums."""

from typing import Any

import pytest

from console.cluster.lives import go_on
from console.cluster.models import Job, JobPhase, JobRun
from console.core import clock
from console.health.metrics import text
from console.power.figures import NewReading, record
from console.power.losses import keep_losses, losses_of, lost_hours, slow_down
from console.power.models import RunLoss, Source
from tests import factories
from tests.power.conftest import Site

HOUR = 3600


def now() -> int:
    return int(clock.now().timestamp())


def measured(site: Site, *seconds: float) -> None:
    told = [NewReading(f"n{1 + i // 2}", "gpu", i % 2, each) for i, each in enumerate(seconds)]
    record(site.partition.cluster, told, Source.MEASURED)


def ran(
    site: Site, job_id: str, held: dict[str, Any], hours: float = 1, ago: int = 60, **fields: Any
) -> None:
    """A run of a job that ended so many seconds ago."""
    cluster = site.partition.cluster
    defaults = {"partition": "x", "phase": JobPhase.ENDED, "project": "alpha"}
    factories.make_job(cluster, job_id, **{**defaults, **fields})
    ended = now() - ago
    JobRun.objects.create(
        cluster=cluster, job_id=job_id, start=ended - int(hours * HOUR), restarts=0, ended=ended, partition="x",
        held=held, nodes=sorted(held),
    )  # fmt: skip


def test_the_formula() -> None:
    hours, lost = lost_hours(2 * HOUR, [10, 10, 10, 12.5])
    assert hours == 8
    assert lost == pytest.approx(2 * 3 * (1 - 10 / 12.5))
    speeds = [1 / each for each in (10, 10, 10, 12.5)]
    assert lost == pytest.approx(2 * sum(1 - min(speeds) / own for own in speeds)), "the same by speeds"
    assert lost_hours(HOUR, [5, 5]) == (2, 0)
    assert lost_hours(-5, [5, 6]) == (0, 0), "a clock that went backwards"


def test_each_run_on_several_measured_processors_is_counted_once_and_its_slowest_named(site: Site) -> None:
    measured(site, 10, 10, 10, 12.5)
    two = {name: {"cpu": 8, "gpu": 2, "mem": 100} for name in ("n1", "n2")}
    ran(site, "1", two)
    ran(site, "2", {"n1": {"cpu": 4, "gpu": 1}})
    ran(site, "3", {"n1": {"gpu": 2}, "n3": {"gpu": 2}})
    ran(site, "4", {"n1": {"gpu": 2}})
    assert keep_losses(site.partition.cluster) == 2
    assert keep_losses(site.partition.cluster) == 2, "looked at once more, kept once"
    rows = {row.job_id: row for row in RunLoss.objects.all()}
    assert set(rows) == {"1", "4"}, "not one processor, not unmeasured ones"
    assert (rows["1"].processors, rows["1"].hours, rows["1"].slowest) == (4, 4.0, "n2")
    assert rows["1"].lost == pytest.approx(0.6)
    assert rows["4"].lost == 0


def test_of_a_part_of_a_node_the_middle_counts(site: Site) -> None:
    measured(site, 10, 14, 10, 10)
    ran(site, "1", {"n1": {"gpu": 1}, "n2": {"gpu": 2}})
    keep_losses(site.partition.cluster)
    row = RunLoss.objects.get()
    assert (row.slowest, row.processors) == ("n1", 3)
    assert row.lost == pytest.approx(2 * (1 - 10 / 12))


def test_cpus_count_with_their_nodes_figure(site: Site) -> None:
    told = [NewReading(f"n{i}", "cpu", 0, 10 + 10 * (i == 2)) for i in (1, 2)]
    record(site.partition.cluster, told, Source.MEASURED)
    ran(site, "1", {"n1": {"cpu": 8}, "n2": {"cpu": 8}}, hours=2)
    keep_losses(site.partition.cluster)
    row = RunLoss.objects.get()
    assert (row.resource, row.hours, row.lost) == ("cpu", 32, 8)


def test_what_a_run_holds_is_kept_when_it_begins(site: Site) -> None:
    cluster = site.partition.cluster
    job = Job(
        cluster=cluster, job_id="7", partition="x", phase=JobPhase.RUNNING, submit=now() - 100, start=now() - 50,
        alloc={"n1": {"gpu": 2}},
    )  # fmt: skip
    go_on(cluster, [job], 300)
    run = JobRun.objects.get()
    assert (run.partition, run.held) == ("x", {"n1": {"gpu": 2}})


def test_sums_are_by_project_over_thirty_days_the_most_first(site: Site) -> None:
    measured(site, 10, 10, 10, 20)
    two = {name: {"gpu": 2} for name in ("n1", "n2")}
    ran(site, "1", two)
    ran(site, "2", two, hours=2, project="beta")
    ran(site, "3", two, ago=29 * 24 * HOUR)
    ran(site, "4", two, ago=31 * 24 * HOUR)
    keep_losses(site.partition.cluster)
    cluster = site.partition.cluster
    told = [(each.project, each.runs, each.lost) for each in losses_of(cluster, "x", None)]
    assert told == [("alpha", 2, 3.0), ("beta", 1, 3.0)]
    assert [each.project for each in losses_of(cluster, "x", ["beta"])] == ["beta"]
    assert losses_of(cluster, "y", None) == []
    assert (
        f'giveway_hours_lost{{cluster="{cluster.name}",partition="x",resource="gpu"}} 6.0' in text().decode()
    )


def test_a_run_that_goes_on_after_all_is_counted_anew(site: Site) -> None:
    measured(site, 10, 10, 10, 20)
    ran(site, "1", {name: {"gpu": 2} for name in ("n1", "n2")})
    keep_losses(site.partition.cluster)
    JobRun.objects.update(ended=now())
    keep_losses(site.partition.cluster)
    assert RunLoss.objects.get().hours > 4


@pytest.mark.parametrize(
    ("seconds", "longer"), [([10, 10, 10], 0.0), ([12, 10], 0.1), ([10, 10, 10, 20], 0.75), ([7], 0.0)]
)
def test_a_slow_down_is_against_an_even_set_with_the_same_power(seconds: list[float], longer: float) -> None:
    """12 s and 10 s are a twelfth and a tenth of the work a second; two of the mean need 120 / 11 s."""
    assert slow_down(seconds) == pytest.approx(longer)


def test_many_runs_are_read_in_parts_and_nothing_is_written_between_them(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever signs in meanwhile would have the whole task fail on SQLite (`tests.plugins.open_reads` looks out)."""
    monkeypatch.setattr("console.power.losses.BATCH", 2)
    measured(site, 10, 10, 10, 12.5)
    for job in range(5):
        ran(site, str(job), {"n1": {"gpu": 2}})
    assert keep_losses(site.partition.cluster) == 5
    assert RunLoss.objects.count() == 5
