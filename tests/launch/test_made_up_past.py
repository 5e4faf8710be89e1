"""The past of a demonstration: made up once, believable, told as made up, and nowhere else."""

import re
import shutil
from collections import defaultdict
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from django.test import Client, override_settings
from pytest_django import Settings

from console.accounts.models import User
from console.audit.models import AuditEntry
from console.audit.services import verify_chain
from console.audit.tasks import anchor
from console.cluster.connect import configured_cluster, forget_adapters
from console.cluster.models import Job, JobPhase, JobRun
from console.core import clock
from console.forecasts.models import JobForecast, KeptRun
from console.history.models import PartitionMinute, QuotaMinute, RecordedObservation
from console.history.recording import unpacked
from console.insights.models import PartitionDay, StopsOfDay
from console.launch.past import week
from console.partitions.models import Partition
from console.power.models import Processor, RunLoss
from console.reports.tally import shadow_tally
from console.steering.cycle import run_cycle
from console.steering.models import (
    STOP_KINDS,
    Checkpoint,
    Fate,
    Incident,
    Pause,
    Plan,
    PlannedAction,
    PlanState,
    Victim,
)
from scheduler.adapters.simulator.demo import FIRST_JOB
from tests.launch.first_start import counts, first_start, goes_on
from tests.plugins.shared_rows import made_once

GPUS = 8
"""Of a node."""
pytestmark = pytest.mark.django_db


@pytest.fixture(scope="module")
def made(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The console's folder once a past was made up, which the tests of this module share."""
    home = tmp_path_factory.mktemp("made_up")
    with made_once(request, "past", lambda: _make(home)):
        yield home


def _make(home: Path) -> None:
    with override_settings(HOME=home), first_start():
        assert week.make_week()


@pytest.fixture(autouse=True)
def past(made: Path, db: None, settings: Settings, tmp_path: Path) -> Iterator[None]:
    """Right after a first start that has made up its past."""
    shutil.copytree(made, tmp_path, dirs_exist_ok=True)
    settings.HOME = tmp_path
    with goes_on():
        yield


def test_a_past_is_made_up_that_could_have_been() -> None:
    plans = list(Plan.objects.filter(enforcement="enforce").order_by("id"))
    assert len(plans) > 20
    assert {plan.state for plan in plans} <= {PlanState.VERIFIED, PlanState.UNDONE}
    assert sum(plan.state == PlanState.VERIFIED for plan in plans) > 0.8 * len(plans)
    assert not Victim.objects.filter(fate=Fate.OPEN).exists()
    assert Checkpoint.objects.filter(acknowledged_at__isnull=False, resumed_at__isnull=False).exists()
    assert not _stopped_again_within(timedelta(minutes=10))
    assert _most_gpus_of_a_node() == GPUS
    assert Job.objects.exclude(phase=JobPhase.ENDED).count() == 0
    assert not JobRun.objects.filter(ended=None).exists()
    assert PartitionMinute.objects.filter(partition="demo").count() > 24 * 60
    assert sum(StopsOfDay.objects.values_list("stops", flat=True)) == sum(
        PartitionMinute.objects.values_list("stops", flat=True)
    )
    assert PartitionDay.objects.count() >= 2
    assert JobForecast.objects.filter(ran_s__isnull=False).exists()
    assert KeptRun.objects.exists()
    assert Processor.objects.filter(taken_at__lt=clock.now() - timedelta(days=1)).count() == 5 * GPUS
    assert RunLoss.objects.filter(project="beta", lost__gt=0).exists()


def test_quotas_looks_shadow_and_incidents_have_something_to_show() -> None:
    quotas = QuotaMinute.objects.filter(partition="demo", rank=0)
    assert quotas.filter(at__gte=clock.now() - timedelta(hours=6)).count() > 6 * 55
    assert any(users for _most, _full, users in (row.uses["quotas"][""] for row in quotas))
    looks = RecordedObservation.objects.order_by("at")
    assert looks.count() > 85
    assert unpacked(bytes(looks[40].body)).jobs
    proposed = Plan.objects.filter(partition="cpu", enforcement="shadow")
    assert proposed.exists()
    assert all(plan.victims and plan.ended_at >= plan.created_at for plan in proposed if plan.ended_at)
    assert not proposed.filter(ended_at=None).exists()
    assert shadow_tally(Partition.objects.get(name="cpu")).total.stops
    incidents = list(Incident.objects.select_related("victim").order_by("opened_at"))
    assert [each.closed_by for each in incidents] == ["dave", "dave"]
    assert {each.victim.fate for each in incidents} == {Fate.LOST}
    assert not Pause.objects.exists()


def test_its_audit_log_is_whole_and_in_the_order_of_time() -> None:
    anchor()

    assert verify_chain().faults == []
    moments = list(AuditEntry.objects.order_by("sequence").values_list("at", flat=True))
    assert moments == sorted(moments)
    assert moments[0] < clock.now() - timedelta(days=1)
    assert moments[-1] < clock.now()


def test_what_is_true_goes_on_where_the_past_ends() -> None:
    cluster, last = (
        configured_cluster(),
        Plan.objects.order_by("-id").values_list("cycle__number", flat=True)[0],
    )

    report = run_cycle(cluster)

    assert report is not None
    assert report.fault == ""
    assert report.number > last
    living = Job.objects.exclude(phase=JobPhase.ENDED)
    assert living.exists()
    assert {int(job.job_id.partition("_")[0]) >= FIRST_JOB for job in living} == {True}
    assert Job.objects.filter(phase=JobPhase.ENDED, job_id__gte=str(FIRST_JOB)).exists()


def test_a_second_start_makes_up_nothing_more() -> None:
    before = counts()

    assert not week.make_week()
    forget_adapters()
    assert not week.make_week()
    assert counts() == before


def test_every_page_says_that_it_is_made_up(client: Client) -> None:
    client.force_login(User.objects.get(username="vic"))
    for address in ("/", "/partitions/demo/timeline/", "/insights/", "/forecasts/"):
        page = client.get(address).content.decode()
        told = re.findall(r"what is told of before (.*?) is made up", page)
        assert len(told) == 1, address
        assert "2026-11-25 19:30:00 UTC" in told[0]


def _stopped_again_within(time: timedelta) -> list[str]:
    stops: dict[str, list[datetime]] = defaultdict(list)
    for job_id, at in PlannedAction.objects.filter(kind__in=STOP_KINDS).values_list("job_id", "issued_at"):
        assert at is not None
        stops[job_id].append(at)
    return [
        job_id
        for job_id, moments in stops.items()
        if any(
            later - earlier < time
            for earlier, later in zip(sorted(moments), sorted(moments)[1:], strict=False)
        )
    ]


def _most_gpus_of_a_node() -> int:
    """What was held at once on the fullest node, by the runs of jobs."""
    changes: dict[str, list[tuple[int, int]]] = defaultdict(list)
    for run in JobRun.objects.all():
        for node, held in run.held.items():
            gpus = held.get("gpu", 0)
            changes[node] += [(run.start, gpus), (run.ended or run.start, -gpus)]
    most = 0
    for each in changes.values():
        held_now = 0
        for _, gpus in sorted(each):
            held_now += gpus
            most = max(most, held_now)
    return most
