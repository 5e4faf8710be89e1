"""A job's life as one bar: what it did when, who caused it, and what is not known of it."""

from datetime import timedelta
from types import SimpleNamespace
from typing import cast

import pytest
from django.test import Client
from django.utils import timezone

from console.cluster.models import Job, JobRun
from console.core import clock
from console.overview.stories import WORDS, LifeKind, LifeSpan, spans_of
from console.steering.models import Plan, PlannedAction
from scheduler.model.actions import ActionKind
from tests import factories
from tests.markup import flat
from tests.ui.conftest import House

WAITING, RUNNING, SAVING, HELD = LifeKind.WAITING, LifeKind.RUNNING, LifeKind.SAVING, LifeKind.HELD


def row(phase: str = "running", first_submit: int = 100) -> Job:
    return Job(phase=phase, first_submit=first_submit)


def act(kind: ActionKind, at: int, number: int = 1) -> PlannedAction:
    return cast(PlannedAction, SimpleNamespace(kind=kind, issued_at=clock.from_epoch(at), id=number))


def spans(
    job: Job, runs: list[tuple[int, int | None]], *acts: PlannedAction, end: int = 1000
) -> list[LifeSpan]:
    return list(spans_of(job, runs, acts, end))


@pytest.mark.parametrize(
    ("job", "runs", "found"),
    [
        (row("pending"), [], [(WAITING, 100, 1000)]),
        (row(), [(300, None)], [(WAITING, 100, 300), (RUNNING, 300, 1000)]),
        (row("ended"), [(300, None)], [(WAITING, 100, 300), (RUNNING, 300, 1000)]),
        (row(), [(300, 500), (600, None)],
         [(WAITING, 100, 300), (RUNNING, 300, 500), (WAITING, 500, 600), (RUNNING, 600, 1000)]),
        # Cancelled while it waited.
        (row("ended"), [], []),
        # The cluster's clock is behind ours: nothing overlaps, nothing is negative.
        (row(), [(50, None)], [(RUNNING, 100, 1000)]),
        (row(), [(600, None), (300, 700)], [(WAITING, 100, 300), (RUNNING, 300, 700), (RUNNING, 700, 1000)]),
        # The end of its first run was not seen, and nobody of us stopped it: that is left blank.
        (row(), [(300, None), (600, None)], [(WAITING, 100, 300), (WAITING, 300, 600), (RUNNING, 600, 1000)]),
        (row("pending", first_submit=1000), [], []),
    ],
)  # fmt: skip
def test_without_us(
    job: Job, runs: list[tuple[int, int | None]], found: list[tuple[LifeKind, int, int]]
) -> None:
    assert spans(job, runs) == [LifeSpan(*each) for each in found]


def test_stopped_held_let_go_and_running_again() -> None:
    made = spans(
        row(), [(200, 400), (500, None)], act(ActionKind.SIGNAL, 380), act(ActionKind.REQUEUE_HOLD, 398, 2),
        act(ActionKind.RELEASE, 450, 3),
    )  # fmt: skip
    assert made == [
        LifeSpan(WAITING, 100, 200), LifeSpan(RUNNING, 200, 380), LifeSpan(SAVING, 380, 400), LifeSpan(HELD, 400, 450),
        LifeSpan(WAITING, 450, 500), LifeSpan(RUNNING, 500, 1000),
    ]  # fmt: skip


def test_before_its_first_run_it_was_not_stopped_however_soon_that_came() -> None:
    made = spans(
        row(), [(103, 115), (150, None)], act(ActionKind.REQUEUE_HOLD, 114), act(ActionKind.RELEASE, 120, 2)
    )
    assert [span.part for span in made] == [WAITING, RUNNING, HELD, WAITING, RUNNING]


def test_it_is_not_said_that_a_job_saved_where_it_was_only_asked_to() -> None:
    assert str(WORDS[SAVING]) == "had time to save"


def test_saving_now_and_held_now() -> None:
    assert spans(row(), [(200, None)], act(ActionKind.SIGNAL, 980))[-1] == LifeSpan(SAVING, 980, 1000)
    stopped = spans(row("pending"), [(200, 400)], act(ActionKind.REQUEUE_HOLD, 399))
    assert stopped[-1] == LifeSpan(HELD, 400, 1000)


def test_a_run_that_we_ended_ends_with_the_stop_where_its_end_was_not_seen() -> None:
    made = spans(row("pending"), [(200, None)], act(ActionKind.REQUEUE_HOLD, 500))
    assert made == [LifeSpan(WAITING, 100, 200), LifeSpan(RUNNING, 200, 500), LifeSpan(HELD, 500, 1000)]


def test_a_stop_of_long_ago_does_not_hold_a_later_wait() -> None:
    made = spans(
        row("pending"),
        [(200, 300), (400, 900)],
        act(ActionKind.REQUEUE_HOLD, 299),
        act(ActionKind.RELEASE, 350, 2),
    )
    assert made[-1] == LifeSpan(WAITING, 900, 1000)


# --- The page -------------------------------------------------------------------------------------------------


def test_the_page_draws_it_with_its_causes_and_folds_the_story(house: House, ada: Client) -> None:
    now = timezone.now()
    submitted = int((now - timedelta(hours=2)).timestamp())
    Job.objects.filter(job_id="88").update(first_submit=submitted, start=submitted + 3600, restarts=1)
    JobRun.objects.create(
        cluster=house.cluster,
        job_id="88",
        start=submitted + 600,
        restarts=0,
        ended=submitted + 1800,
        nodes=["n1"],
    )
    house.plan.actions.filter(job_id="88").delete()
    factories.make_action(
        house.plan, job_id="88", kind="requeue_hold", state="verified", run_start=submitted + 600, run_restarts=0,
        issued_at=clock.from_epoch(submitted + 1799),
    )  # fmt: skip
    page = ada.get("/jobs/88/").content.decode()
    text = flat(page)
    assert "life-waiting" in page and "life-running" in page and "life-held" in page
    assert "Stopped to make room for 101 (ann)" in text
    assert page.index('class="sheet life"') < page.index('id="story"')
    assert '<details id="story">' in page, "folded; a poll keeps it as it is"


def test_a_stop_that_failed_did_nothing_and_one_to_grow_made_room_for_nobody(
    house: House, ada: Client
) -> None:
    now = int(timezone.now().timestamp())
    Job.objects.filter(job_id="88").update(first_submit=now - 3600, start=now - 1800)
    house.plan.actions.filter(job_id="88").delete()
    action = factories.make_action(
        house.plan, job_id="88", kind="requeue_hold", state="failed", run_start=now - 1800, run_restarts=0,
        issued_at=clock.from_epoch(now - 60),
    )  # fmt: skip
    life = flat(ada.get("/jobs/88/")).partition('class="sheet life"')[2].partition("</section>")[0]
    assert "Stopped to" not in life and "life-running" in life
    action.state = "verified"
    action.save()
    Plan.objects.filter(pk=house.plan.pk).update(kind="grow")
    life = flat(ada.get("/jobs/88/")).partition('class="sheet life"')[2].partition("</section>")[0]
    assert "Stopped to start again on more nodes" in life


def test_a_job_that_only_waits_says_so_first(house: House, ada: Client) -> None:
    page = flat(ada.get("/jobs/101/"))
    first = page.partition('class="sheet"')[2].partition("</section>")[0]
    assert "Why is it waiting?" in first and "state-" in first and "Room is being made for it." in first
