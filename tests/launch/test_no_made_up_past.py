"""Where no past of a demonstration is made up, or not yet, or not to its end."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.test import Client
from pytest_django import Settings
from structlog.testing import capture_logs

from console.accounts.models import User
from console.cluster.connect import configured_cluster
from console.cluster.models import Job
from console.launch.past import week
from console.launch.past.week import PlanRows
from console.partitions.models import Partition
from console.projects.selectors import core_projects
from console.steering.cycle import run_cycle
from console.steering.facts import partition_policies
from console.steering.models import Cycle, Plan
from tests.launch.first_start import EVENING, counts, first_start

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def started(db: None, settings: Settings, tmp_path: Path) -> Iterator[None]:
    """The first start, before a past is made up."""
    settings.HOME = tmp_path
    with first_start():
        yield


def test_a_start_that_is_interrupted_leaves_nothing_and_the_next_one_does_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    before = counts()
    with monkeypatch.context() as patch:
        patch.setattr(week, "write_jobs", lambda *_: int("stopped"))
        with pytest.raises(ValueError, match="stopped"):
            week.make_week()
    assert counts() == before
    assert configured_cluster().made_up_until is None

    assert week.make_week()


def test_a_cycle_that_made_several_plans_is_written_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A plan and a proposal of the same two seconds left some demonstrations without their week."""
    monkeypatch.setattr(PlanRows, "cycle_at", lambda rows, moment: (moment - rows.week.begin) // 3600 + 1)
    assert week.make_week()
    assert Plan.objects.count() > Cycle.objects.count() > 0


def test_a_past_that_cannot_be_made_up_keeps_nobody_from_working(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fail(*_: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(week, "played_week", fail)
    with capture_logs() as logs:
        call_command("worker", past=True)
    assert [(entry["event"], entry["log_level"]) for entry in logs] == [
        ("no past could be made up: the demonstration begins without one", "error")
    ]
    assert not Plan.objects.exists()
    run_cycle(configured_cluster())
    assert Job.objects.exists()


def test_one_cycle_may_have_decided_for_two_partitions(monkeypatch: pytest.MonkeyPatch) -> None:
    play = week.played_week

    def at_once(*args: Any) -> Any:
        made, seen = play(*args)
        made.proposals[0].at = made.plans[0].at
        return made, seen

    monkeypatch.setattr(week, "played_week", at_once)
    assert week.make_week()
    of_both = Cycle.objects.filter(plans__enforcement="shadow").filter(plans__enforcement="enforce")
    assert of_both.exists()


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
    before = counts()

    assert not week.make_week()
    assert counts() == before


def test_no_page_says_so_before(client: Client) -> None:
    client.force_login(User.objects.get(username="vic"))
    assert "is made up" not in client.get("/insights/").content.decode()


def _played(number: int) -> list[object]:
    cluster = configured_cluster()
    until = int(EVENING.timestamp()) // 60 * 60
    made, _ = week.played_week(partition_policies(cluster), core_projects(cluster), until, number)
    plans = [(plan.at, plan.decision.job, plan.over_at, *plan.victims) for plan in made.plans]
    runs = [(job, [(run.start, run.ended) for run in played.runs]) for job, played in made.jobs.items()]
    return [plans, runs, [(look.at, look.used, look.pending) for look in made.minutes]]
