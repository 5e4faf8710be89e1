"""A job's life outlives its requeues: first submission, runs and waiting are kept, and the pages tell of them."""

from datetime import timedelta

import pytest
from django.test import Client

from console.cluster.models import JobRun
from console.cluster.services import forget_ended_jobs
from console.core import clock
from console.steering.explanations import Stage, read
from console.steering.explanations.stopping import comes_back
from tests import factories
from tests.markup import flat
from tests.steering.conftest import START, Sim

SETTLED = 12
"""Cycles after which a stop, and the return from it, are through."""


def stopped_twice(sim: Sim) -> tuple[str, str, str]:
    """A job that has run three times, and the two that it made room for."""
    sim.policy(cool_down_s=0)
    low = sim.running("ann", 8, run_time_s=10**6)
    sim.cycle()
    sim.port.advance(600)
    first = sim.submit("cy", 8, run_time_s=100)
    sim.cycles(SETTLED)
    sim.port.advance(600)
    sim.cycles(3)
    second = sim.submit("cy", 8, run_time_s=100)
    sim.cycles(SETTLED)
    sim.port.advance(600)
    sim.cycles(3)
    return low, first, second


def test_the_first_submission_and_every_run_are_kept(sim: Sim) -> None:
    low, _first, _second = stopped_twice(sim)
    row = sim.row(low)
    runs = list(JobRun.objects.filter(job_id=low).order_by("start"))
    assert row.restarts == 2 and row.submit > row.first_submit
    assert row.first_submit == START
    assert [(run.restarts, run.ended is None) for run in runs] == [(0, False), (1, False), (2, True)]
    assert runs[0].ended is not None and runs[0].ended - runs[0].start >= 600
    ran = sum(run.ended - run.start for run in runs if run.ended)
    assert row.waits_since == row.first_submit + ran
    assert 0 <= row.start - row.waits_since < 600, "what it waited in all, without what it ran"


def test_a_job_that_is_put_back_has_not_begun_again(sim: Sim) -> None:
    """Seen on the demonstration: `Started again on g4, ran for 1 s` of a job that was only ending."""
    sim.policy()
    low = sim.running("ann", 8, run_time_s=10**6, completing_s=5)
    sim.cycle()
    sim.port.advance(600)
    sim.submit("cy", 8, run_time_s=10**6)
    sim.cycles(SETTLED)
    row = sim.row(low)
    assert (row.phase, row.restarts) == ("pending", 1)
    assert [run.restarts for run in JobRun.objects.filter(job_id=low)] == [0]
    known = read(sim.cluster, low)
    assert [comes_back(known, stop).stage for stop in known.stops] == [Stage.RELEASED]


def test_the_page_tells_of_all_of_it(sim: Sim) -> None:
    low, _first, _second = stopped_twice(sim)
    browser = Client()
    browser.force_login(factories.make_administrator())
    page = browser.get(f"/jobs/{low}/").content.decode()
    assert page.count("ann submitted it to partition x") == 1
    assert page.count("Started on n1") == 1
    assert page.count("Started again on n1") == 2
    assert "ran for 10 min" in page


def test_each_stop_has_its_own_return(sim: Sim) -> None:
    """Seen on the demonstration: the latest start stood beside each of five stops."""
    low, first, second = stopped_twice(sim)
    starts = {run.restarts: clock.from_epoch(run.start) for run in JobRun.objects.filter(job_id=low)}
    known = read(sim.cluster, low)
    told = {stop.plan.job_id: comes_back(known, stop) for stop in known.stops}
    assert {job: back.at for job, back in told.items()} == {first: starts[1], second: starts[2]}
    assert "stopped once more" in told[first].text and "stopped once more" not in told[second].text


def test_a_job_that_has_ended_neither_runs_nor_holds(sim: Sim) -> None:
    """Seen on the demonstration: `Runs 17 min of 5 min allowed` of a job that was over."""
    sim.policy()
    job = sim.running("ann", 4, run_time_s=120)
    sim.cycle()
    sim.port.advance(150)
    sim.cycle()
    sim.port.advance(3600)
    browser = Client()
    browser.force_login(factories.make_administrator())
    page = browser.get(f"/jobs/{job}/").content.decode()
    assert "<dt>Ran</dt><dd>2 min" in flat(page) and "<dt>Held</dt>" in flat(page)
    assert "<dt>Runs</dt>" not in page and "<dt>Holds</dt>" not in page
    assert JobRun.objects.get(job_id=job).ended is not None


def test_a_new_job_of_an_old_number_has_a_life_of_its_own(sim: Sim) -> None:
    sim.policy()
    job = sim.running("ann", 4, run_time_s=120)
    sim.cycle()
    sim.port.advance(150)
    sim.cycle()
    row = sim.row(job)
    assert row.ended_at is not None
    sim.port.advance(86400)
    sim.port.state.next_id = int(job)
    assert sim.running("bob", 2) == job
    sim.cycle()
    row = sim.row(job)
    assert (row.user, row.first_submit) == ("bob", row.submit)


@pytest.mark.parametrize("kept_s", [60, 10**6])
def test_old_runs_are_forgotten_with_their_jobs(sim: Sim, kept_s: int) -> None:
    sim.policy()
    sim.running("ann", 4, run_time_s=120)
    sim.cycle()
    sim.port.advance(150)
    sim.cycle()
    sim.port.advance(3600)
    forget_ended_jobs(timedelta(seconds=kept_s))
    assert JobRun.objects.exists() == (kept_s > 3600)
