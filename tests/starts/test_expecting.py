"""When waiting jobs are expected to start: from the mirror, in the background, and only where something has changed."""

from datetime import UTC, datetime
from typing import Any

import pytest
from django.db import connection
from django.db.models import F
from django.test.utils import CaptureQueriesContext

from console.cluster.models import Cluster, Job, JobPhase, Node
from console.core import clock
from console.forecasts.models import JobForecast
from console.starts.expecting import MOST_REST_S, RENEW_S, Expecting, ask
from console.starts.models import ExpectedStart, StartQuestion
from console.starts.queue_replay import read_queue_replay
from console.starts.selectors import expected_starts
from console.steering.models import KeptPlace
from scheduler.forecast.starts import forecast_starts
from scheduler.model.jobs import Request
from tests import factories
from tests.starts.conftest import Clocks
from tests.steering.conftest import START, Sim


def now() -> int:
    return int(clock.now().timestamp())


@pytest.fixture(autouse=True)
def watched(sim: Sim) -> None:
    """Nobody is stopped: all jobs wait for room."""
    sim.policy(enforcement="shadow")


def sure_end(sim: Sim, job: str, in_s: int) -> None:
    """What is forecast of a running job is known exactly."""
    end, start = now() + in_s, sim.row(job).start
    values = {
        "submit": sim.row(job).submit,
        "partition": "x",
        "user": "ann",
        "nodes": 1,
        "cpus": 8,
        "gpus": 0,
    }
    ends = dict.fromkeys(("end_low", "end_p50", "end_p80", "end_high"), end)
    runs = {name: float(in_s) for name in ("p10", "p50", "p90", "low", "high")}
    JobForecast.objects.create(
        cluster=sim.cluster,
        job_id=job,
        made_at=clock.now(),
        start=start,
        renewed=now(),
        **values,
        **ends,
        **runs,
    )


def expected(sim: Sim, job: str) -> ExpectedStart:
    return ExpectedStart.objects.get(job_id=job, gone_at=None)


def test_a_job_starts_when_the_one_that_holds_its_room_is_expected_to_end(sim: Sim) -> None:
    runs = sim.running("ann", 8, time_limit_s=3600)
    first = sim.submit("bob", 8, time_limit_s=600)
    second = sim.submit("bob", 8, time_limit_s=600)
    sim.cycle()
    sure_end(sim, runs, 1200)

    assert Expecting(sim.cluster).expect_starts() == 2

    one, two = expected(sim, first), expected(sim, second)
    # Moments of the play lie apart by less than a tenth there; draws lie on both sides of them.
    assert one.p50 == pytest.approx(now() + 1200, abs=110)
    assert two.p50 == pytest.approx(now() + 1800, abs=250)
    assert None not in {one.low, one.p50, one.high}
    assert [one.low, one.p50, one.high] == sorted(filter(None, (one.low, one.p50, one.high)))
    assert (one.nodes, one.after) == (["n1"], [runs])
    assert (one.first_p50, one.first_at) == (one.p50, now())


def test_what_lies_between_the_ends_that_are_told_is_played(sim: Sim) -> None:
    """By the told ends alone it may end at any time within an hour; three in ten of its like run to the hour's end."""
    runs = sim.running("ann", 8, time_limit_s=3600)
    first = sim.submit("bob", 8, time_limit_s=600)
    sim.cycle()
    sure_end(sim, runs, 60)
    end_inner = [now() + left for left in (60, 60, 60, 60, 60, 3000, 3000)]
    JobForecast.objects.filter(job_id=runs).update(end_high=now() + 3000, end_inner=end_inner)

    Expecting(sim.cluster).expect_starts()

    draws = play_of(sim, first)
    assert sum(draw > 2000 for draw in draws) >= 0.25 * len(draws)
    assert sum(200 < draw < 2000 for draw in draws) <= 0.15 * len(draws)


def play_of(sim: Sim, job: str) -> tuple[float, ...]:
    """All draws of a job's start."""
    play = read_queue_replay(sim.cluster)
    said = forecast_starts(play.queue)
    return next(each.draws for each in said if each.id == job)


def test_without_a_forecast_the_limit_counts(sim: Sim) -> None:
    sim.running("ann", 8, time_limit_s=3600)
    waits = sim.submit("bob", 8, time_limit_s=600)
    sim.cycle()

    Expecting(sim.cluster).expect_starts()

    assert expected(sim, waits).p50 == pytest.approx(now() + 3600, rel=0, abs=330)


@pytest.mark.parametrize(("dispatch", "at_once"), [("slurm", False), ("managed", True)])
def test_who_may_pass_goes_by_limits_where_slurm_places_and_by_forecasts_where_giveway_does(
    sim: Sim, dispatch: str, at_once: bool
) -> None:
    """Half the node is free for 20 minutes to come; the small job is forecast to run for ten, its limit is an hour."""
    runs = sim.running("ann", 4, time_limit_s=3600)
    sim.submit("bob", 8, time_limit_s=600)
    small = sim.submit("bob", 4, time_limit_s=7200)
    sim.cycle()
    sure_end(sim, runs, 1200)
    sure_end(sim, small, 600)
    sim.policy(enforcement="shadow", dispatch=dispatch)

    Expecting(sim.cluster).expect_starts()

    p50 = expected(sim, small).p50
    assert p50 is not None
    assert (p50 == now()) is at_once


def test_who_came_on_past_days_may_come_again_while_others_wait(sim: Sim) -> None:
    """Half the node is free for 20 minutes to come; each day at this time a short job of the other half came."""
    runs = sim.running("ann", 4, time_limit_s=3600)
    great = sim.submit("bob", 8, time_limit_s=600)
    daily = sim.submit("eve", 4, time_limit_s=3000)
    sim.cycle()
    sure_end(sim, runs, 1200)
    like = Job.objects.get(job_id=daily)
    Job.objects.filter(job_id=daily).delete()
    Expecting(sim.cluster).expect_starts()
    assert expected(sim, great).p50 == pytest.approx(now() + 1200, abs=60)
    for days in (1, 2, 3):
        came = now() - days * 86_400 + 60
        like.pk, like.job_id, like.phase = None, f"7{days}", JobPhase.ENDED
        like.submit = like.first_submit = like.start = came
        like.ended_at = datetime.fromtimestamp(came + 2400, UTC)
        like.save()

    Expecting(sim.cluster).expect_starts()

    assert expected(sim, great).p50 == pytest.approx(now() + 2460, abs=120)


def test_nothing_is_said_of_those_who_may_not_start_whatever_room_there_is(sim: Sim) -> None:
    runs = sim.running("ann", 8, time_limit_s=3600)
    sim.submit("bob", 2, held=True)
    sim.submit("bob", 2, dependency=f"afterok:{runs}")
    sim.submit("bob", 2, begin=START + 900)
    waits = sim.submit("bob", 2)
    sim.cycle()

    assert Expecting(sim.cluster).expect_starts() == 1
    assert [row.job_id for row in ExpectedStart.objects.all()] == [waits]


def test_no_start_is_in_sight_of_a_job_whose_nodes_take_no_jobs(sim: Sim) -> None:
    large = sim.submit("bob", 8)
    sim.cycle()
    Node.objects.filter(name="n1").update(up=False)

    Expecting(sim.cluster).expect_starts()

    assert (expected(sim, large).p50, expected(sim, large).within) == (None, None)


def test_nodes_that_take_no_jobs_and_nodes_that_are_kept(sim: Sim) -> None:
    sim.policy("wide", enforcement="shadow")
    for _ in range(4):
        sim.submit("ann", 8, "wide", time_limit_s=3600)
    sim.port.advance(2)
    waits, other = sim.submit("bob", 8, "wide"), sim.submit("bob", 8, "wide")
    sim.cycle()
    KeptPlace.objects.create(
        cluster=sim.cluster, partition="wide", job_id=other, user="bob", nodes=["n3"], at=now(), since=now(),
        until=now() + 60, moved=now(), asked=now(),
    )  # fmt: skip
    Node.objects.filter(name__in=["n1", "n2"]).update(up=False)

    Expecting(sim.cluster).expect_starts()

    assert expected(sim, waits).nodes == ["n4"]
    assert expected(sim, other).nodes == ["n3"]


def test_it_learns_from_the_starts_that_came(sim: Sim) -> None:
    runs = sim.running("ann", 8, time_limit_s=3600)
    waits = sim.submit("bob", 8, time_limit_s=600)
    sim.cycle()
    sure_end(sim, runs, 1200)
    for number in range(40):  # they came twice as late as was played of them
        ExpectedStart.objects.create(
            cluster=sim.cluster, job_id=f"9{number}", submit=START, partition="x", made_at=START, first_at=START,
            first_played=[1000.0, 1200.0, 1400.0], started=START + 2400, gone_at=clock.now(),
        )  # fmt: skip

    Expecting(sim.cluster).expect_starts()

    said = expected(sim, waits)
    low, middle, _high = said.first_played
    assert middle == pytest.approx(1200, abs=110)
    assert said.p50 == pytest.approx(now() + (middle + 60) * 2460 / 1260 - 60, abs=2)
    assert said.high == said.p50, "nobody came later"
    assert low == pytest.approx(middle, abs=200)


@pytest.mark.django_db(transaction=True)
def test_it_is_said_again_only_where_something_has_changed(sim: Sim, clocks: Clocks) -> None:
    sim.running("ann", 8, time_limit_s=3600)
    waits = sim.submit("bob", 8, time_limit_s=600)
    sim.cycle()
    known = Expecting(sim.cluster)
    assert known.expect_starts() == 1
    version = Cluster.objects.get().version

    assert known.expect_starts() is None
    assert Cluster.objects.get().version == version, "what it has said itself is no news to it"

    clocks.now += RENEW_S
    assert known.expect_starts() == 1, "time goes by"
    assert Cluster.objects.get().version == version, "but nothing moved"

    sim.port.cancel(waits)
    sim.cycle()
    assert known.expect_starts() == 0
    gone = ExpectedStart.objects.get(job_id=waits)
    assert (gone.gone_at is not None, gone.started) == (True, None)


@pytest.mark.parametrize(("costs", "rests", "asked"), [(2.0, 200.0, 20.0), (9.0, MOST_REST_S, 90.0)])
def test_what_costs_much_is_said_more_rarely(
    sim: Sim, clocks: Clocks, costs: float, rests: float, asked: float
) -> None:
    clocks.costs = costs
    known = Expecting(sim.cluster)
    assert known.expect_starts() == 0
    for wait, question, is_due in (
        (rests - 1, False, False), (rests, False, True), (asked - 1, True, False), (asked, True, True),
    ):  # fmt: skip
        known.duty.began = clocks.now
        clocks.now += wait
        Cluster.objects.update(version=F("version") + 1)
        StartQuestion.objects.all().delete()
        if question:
            ask(cluster=sim.cluster, person=factories.make_user(f"u{wait}", cluster_user="cy"), partition="x",
                account="", request=Request(nodes=1, per_node={"cpu": 1}), time_limit_s=600)  # fmt: skip
        assert (known.expect_starts() is not None) is is_due


def test_where_nobody_waits_nobody_else_is_looked_at(sim: Sim, django_assert_max_num_queries: Any) -> None:
    sim.running("ann", 4)
    sim.cycle()
    with django_assert_max_num_queries(3), CaptureQueriesContext(connection) as asked:
        assert read_queue_replay(sim.cluster).queue.running == []
    assert not any("forecasts_" in query["sql"] for query in asked)


def test_what_was_first_said_stays_and_the_start_is_written_beside_it(sim: Sim) -> None:
    runs = sim.running("ann", 8, time_limit_s=3600, run_time_s=100)
    waits = sim.submit("bob", 8, time_limit_s=600)
    sim.cycle()
    Expecting(sim.cluster).expect_starts()
    first = expected(sim, waits)

    sim.port.advance(60)
    sure_end(sim, runs, 45)
    Expecting(sim.cluster).expect_starts()
    again = expected(sim, waits)
    assert again.p50 is not None and first.p50 is not None
    assert again.p50 < first.p50 - 3000
    assert (again.first_p50, again.first_at) == (first.first_p50, first.first_at)

    sim.port.advance(60)
    sim.cycle()
    Expecting(sim.cluster).expect_starts()
    over = ExpectedStart.objects.get(job_id=waits)
    assert over.gone_at is not None
    assert over.started == sim.row(waits).start


@pytest.mark.parametrize(
    ("away", "back"),
    [
        ({"held": True}, {"held": False}),
        ({"phase": JobPhase.RUNNING, "start": START}, {"phase": JobPhase.PENDING, "start": 0}),
    ],
    ids=["held and released", "stopped and requeued"],
)
def test_a_job_that_waits_again_is_spoken_of_again(
    sim: Sim, away: dict[str, object], back: dict[str, object]
) -> None:
    sim.running("ann", 8, time_limit_s=3600)
    waits = sim.submit("bob", 8, time_limit_s=600)
    sim.cycle()
    mine = Job.objects.filter(job_id=waits)
    Expecting(sim.cluster).expect_starts()
    mine.update(**away)
    Expecting(sim.cluster).expect_starts()
    before = ExpectedStart.objects.get(job_id=waits)
    assert before.gone_at is not None

    mine.update(**back)
    Expecting(sim.cluster).expect_starts()

    assert expected(sim, waits).pk != before.pk
    assert list(expected_starts(sim.cluster, mine)) == [waits]
    assert ExpectedStart.objects.get(pk=before.pk).started == (away.get("start") or None)


def test_pages_ask_for_those_that_wait_with_one_query(
    sim: Sim, django_assert_num_queries: pytest.FixtureRequest
) -> None:
    runs = sim.running("ann", 8, time_limit_s=3600)
    waits = sim.submit("bob", 8)
    sim.cycle()
    Expecting(sim.cluster).expect_starts()
    rows = [sim.row(runs), sim.row(waits)]

    with django_assert_num_queries(1):  # type: ignore[operator]
        assert list(expected_starts(sim.cluster, rows)) == [waits]
    with django_assert_num_queries(0):  # type: ignore[operator]
        assert expected_starts(sim.cluster, rows[:1]) == {}
