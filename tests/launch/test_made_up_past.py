"""The past of a demonstration: made up once, believable, told as made up, and nowhere else."""

import re
import signal
from collections import defaultdict
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from django.test import Client
from pytest_django import Settings
from structlog.testing import capture_logs

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
from console.launch.demo import SET_UP_BEFORE, seed
from console.launch.management.commands import worker
from console.launch.past import week
from console.partitions.models import Partition
from console.power.models import Processor, RunLoss
from console.projects.selectors import core_projects
from console.reports.tally import shadow_tally
from console.steering.cycle import run_cycle
from console.steering.decisions.facts import partition_policies
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
from scheduler.adapters.simulator import demo_week
from scheduler.adapters.simulator.demo import FIRST_JOB

EVENING = datetime(2026, 11, 25, 19, 30, tzinfo=UTC)
"""Of a Wednesday."""
GPUS = 8
"""Of a node."""
pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def first_start(settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """As `manage.py run` finds it at a first start, but that a day is made up and not a week."""
    settings.HOME = tmp_path
    settings.GIVEWAY_SCENARIO = "demo"
    monkeypatch.setattr(demo_week, "DAYS", 1)
    forget_adapters()
    with clock.set_to(EVENING):
        seed(SET_UP_BEFORE)
        yield
    forget_adapters()


def test_a_past_is_made_up_that_could_have_been() -> None:
    assert week.make_week()

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
    week.make_week()

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
    week.make_week()
    anchor()

    assert verify_chain().faults == []
    moments = list(AuditEntry.objects.order_by("sequence").values_list("at", flat=True))
    assert moments == sorted(moments)
    assert moments[0] < clock.now() - timedelta(days=1)
    assert moments[-1] < clock.now()


def test_what_is_true_goes_on_where_the_past_ends() -> None:
    week.make_week()
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
    week.make_week()
    before = _counts()

    assert not week.make_week()
    forget_adapters()
    assert not week.make_week()
    assert _counts() == before


def test_a_start_that_is_interrupted_leaves_nothing_and_the_next_one_does_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    before = _counts()
    with monkeypatch.context() as patch:
        patch.setattr(week, "write_jobs", lambda *_: int("stopped"))
        with pytest.raises(ValueError, match="stopped"):
            week.make_week()
    assert _counts() == before
    assert configured_cluster().made_up_until is None

    assert week.make_week()


def test_a_past_that_cannot_be_made_up_keeps_nobody_from_working(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fail(*_: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(week, "played_week", fail)
    before = signal.getsignal(signal.SIGINT)
    try:
        with capture_logs() as logs:
            worker._make_past()
    finally:
        signal.signal(signal.SIGINT, before)
    assert [(entry["event"], entry["log_level"]) for entry in logs] == [
        ("no past could be made up: the demonstration begins without one", "error")
    ]
    assert not Plan.objects.exists()
    run_cycle(configured_cluster())
    assert Job.objects.exists()


def test_the_same_seed_makes_the_same_past_and_another_one_another() -> None:
    assert _played(7) == _played(7)
    assert _played(7) != _played(8)


@pytest.mark.parametrize("what", ["slurm", "scenario", "seen", "rules", "production"])
def test_nothing_is_made_up_anywhere_else(
    what: str, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster = configured_cluster()
    if what == "slurm":
        settings.GIVEWAY_CLUSTER = "slurm"
    elif what == "scenario":
        settings.GIVEWAY_SCENARIO = "patent_ten_gpus"
    elif what == "seen":
        run_cycle(cluster)
    elif what == "rules":
        Partition.objects.filter(name="cpu").update(revision=None)
    else:
        monkeypatch.setattr("console.accounts.demonstration.is_production", lambda: True)
    before = _counts()

    assert not week.make_week()
    assert _counts() == before


def test_every_page_says_that_it_is_made_up(client: Client) -> None:
    client.force_login(User.objects.get(username="vic"))
    assert "is made up" not in client.get("/insights/").content.decode()
    week.make_week()

    for address in ("/", "/partitions/demo/timeline/", "/insights/", "/forecasts/"):
        page = client.get(address).content.decode()
        told = re.findall(r"what is told of before (.*?) is made up", page)
        assert len(told) == 1, address
        assert "2026-11-25 19:30:00 UTC" in told[0]


def _counts() -> list[int]:
    return [model.objects.count() for model in (Plan, Job, JobRun, PartitionMinute, AuditEntry, KeptRun)]


def _played(number: int) -> list[object]:
    cluster = configured_cluster()
    until = int(EVENING.timestamp()) // 60 * 60
    made, _ = week.played_week(partition_policies(cluster), core_projects(cluster), until, number)
    plans = [(plan.at, plan.decision.job, plan.over_at, *plan.victims) for plan in made.plans]
    runs = [(job, [(run.start, run.ended) for run in played.runs]) for job, played in made.jobs.items()]
    return [plans, runs, [(look.at, look.used, look.pending) for look in made.minutes]]


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
