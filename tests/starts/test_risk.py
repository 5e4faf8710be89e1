"""How likely a running job is stopped within the hour: said in the background, and compared with what came."""

from datetime import timedelta
from typing import Any

import pytest

from console.cluster.models import Job
from console.core import clock
from console.starts import risk
from console.starts.models import StopChance, StopTally
from console.starts.risk import CPUS, GPUS, LASTS, MOST_REST_S, NODES, RENEW_S, SUBMITTED, EndedJobs, Risks
from console.starts.selectors import read_seen_jobs
from console.steering.models import Victim
from scheduler.forecast.stop_risk import StopCalibration, stop_chances
from tests import factories
from tests.starts.conftest import Clocks
from tests.steering.conftest import Sim


def now() -> int:
    return int(clock.now().timestamp())


def busy(sim: Sim, **keys: Any) -> str:
    """A full node; every hour of the last day an urgent job has come and ended."""
    sim.policy(min_wait_s=10_000, **keys)
    low = sim.running("ann", 8, time_limit_s=86_400)
    for hour in range(1, 25):
        factories.make_job(
            sim.cluster, f"9{hour}", user="cy", phase="ended", submit=now() - 3600 * hour + 1800, user_level=0,
            request={"nodes": 1, "per_node": {"cpu": 4}}, ended_at=clock.now() - timedelta(hours=hour - 0.6),
        )  # fmt: skip
    sim.cycle()
    return low


def test_it_follows_from_how_often_higher_jobs_come(sim: Sim) -> None:
    low = busy(sim)

    assert Risks(sim.cluster).say() == 1

    said = StopChance.objects.get(job_id=low)
    assert said.drawn == pytest.approx(0.63, abs=0.15), "one an hour comes, on average"
    assert said.chance == pytest.approx(said.drawn, abs=0.06), "little is known yet of what came"


def test_nobody_is_told_a_chance_where_nobody_is_stopped(sim: Sim) -> None:
    busy(sim, enforcement="shadow")
    assert Risks(sim.cluster).say() == 0
    assert not StopChance.objects.exists()


def test_jobs_that_are_not_requeued_and_those_without_anybody_above_have_none(sim: Sim) -> None:
    sim.policy()
    sim.running("ann", 2, requeue=False)
    sim.cycle()
    assert Risks(sim.cluster).say() == 0
    sim.running("ann", 4)
    sim.policy(user_overrides={"ann": "P0", "cy": "P0"})
    sim.cycle()
    Risks(sim.cluster).say()
    assert StopChance.objects.get().drawn == 0


def test_it_is_said_again_after_a_while(sim: Sim, clocks: Clocks) -> None:
    busy(sim)
    known = Risks(sim.cluster)
    assert [known.say(), known.say()] == [1, None]
    clocks.now += RENEW_S
    assert known.say() == 1


@pytest.mark.parametrize("stopped", [True, False])
def test_what_came_of_it_is_counted_and_corrects_the_next(sim: Sim, clocks: Clocks, stopped: bool) -> None:
    low = busy(sim)
    known = Risks(sim.cluster)
    known.say()
    first = StopChance.objects.get(job_id=low)
    if stopped:
        plan = factories.make_plan(factories.make_cycle(sim.cluster, 900), job_id="91")
        Victim.objects.create(
            plan=plan, cluster=sim.cluster, job_id=low, run_start=first.start, run_restarts=0,
            sent_at=clock.now() + timedelta(minutes=20),
        )  # fmt: skip
    sim.port.advance(3600)
    clocks.now += 2 * RENEW_S
    known.say()

    tally, again = StopTally.objects.get(), StopChance.objects.get(job_id=low)
    assert (tally.jobs, tally.stopped) == (1, int(stopped))
    assert tally.squares == pytest.approx((first.chance - stopped) ** 2)
    assert tally.base_squares == pytest.approx(int(stopped))
    corrected = StopCalibration(tally.bins).corrected(first.drawn)
    assert (corrected > first.drawn, corrected < first.drawn) == (stopped, not stopped)
    assert again.chance == pytest.approx(StopCalibration(tally.bins).corrected(again.drawn))
    assert again.asked_at == now()


def test_a_run_that_has_ended_is_compared_at_once(sim: Sim, clocks: Clocks) -> None:
    low = busy(sim)
    known = Risks(sim.cluster)
    known.say()
    sim.port.cancel(low)
    sim.port.advance(5)
    sim.cycle()
    clocks.now += RENEW_S
    known.say()
    assert (StopTally.objects.get().jobs, StopChance.objects.filter(job_id=low).count()) == (1, 0)


def later(sim: Sim, clocks: Clocks, seconds: int) -> None:
    sim.port.advance(seconds)
    clocks.now += MOST_REST_S


def test_chances_are_compared_with_what_came_some_at_a_time(
    sim: Sim, clocks: Clocks, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(risk, "MOST_COMPARED", 2)
    sim.policy()
    for _ in range(5):
        sim.running("ann", 1, time_limit_s=86_400)
    sim.cycle()
    known = Risks(sim.cluster)
    known.say()
    first = now()
    later(sim, clocks, 3600)
    counted = []
    for _ in range(4):
        known.say()
        counted.append(StopTally.objects.get().jobs)
        later(sim, clocks, 60)
    assert counted == [2, 4, 5, 5]
    assert StopChance.objects.filter(asked_at__gt=first).count() == 5


def test_what_another_process_has_counted_is_not_counted_again(
    sim: Sim, clocks: Clocks, monkeypatch: pytest.MonkeyPatch
) -> None:
    busy(sim)
    known, other = Risks(sim.cluster), Risks(sim.cluster)
    known.say()
    other.ended.read()
    later(sim, clocks, 3600)
    drawn = stop_chances

    def meanwhile(*arguments: Any) -> Any:
        with monkeypatch.context() as patch:
            patch.setattr(risk, "stop_chances", drawn)
            tally = StopTally.objects.get()
            known.say()
            # As it was when the other one began.
            monkeypatch.setattr(StopTally.objects, "get_or_create", lambda **_: (tally, False))
        return drawn(*arguments)

    monkeypatch.setattr(risk, "stop_chances", meanwhile)
    other.say()
    assert StopTally.objects.get().jobs == 1


def test_partitions_for_which_there_is_no_time_have_their_turn_in_the_next_round(
    sim: Sim, clocks: Clocks, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(risk, "BUDGET_S", 0.0)
    for name in ("x", "wide"):
        sim.policy(name)
        sim.running("ann", 2, name)
    sim.cycle()
    known = Risks(sim.cluster)
    rounds = []
    for _ in range(5):
        rounds.append((known.say(), StopChance.objects.count()))
    assert rounds == [(0, 0), (1, 1), (1, 2), (None, 2), (None, 2)], "past jobs are read at first"


def test_a_job_that_may_not_be_stopped_any_more_has_no_chance(sim: Sim, clocks: Clocks) -> None:
    low = busy(sim)
    known = Risks(sim.cluster)
    known.say()
    Job.objects.filter(job_id=low).update(immune="cannot")
    later(sim, clocks, 60)
    assert known.say() == 0
    assert (StopChance.objects.count(), StopTally.objects.get().jobs) == (0, 0)


def test_what_has_ended_is_read_once_and_in_portions(sim: Sim, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(risk, "PORTION", 10)
    busy(sim)
    known = EndedJobs(sim.cluster)
    assert [known.read() for _ in range(3)] == [True, True, False]
    before = known.of("x", [])
    assert len(before) == 24
    assert before[:, SUBMITTED].tolist() == sorted(before[:, SUBMITTED].tolist())
    Job.objects.filter(phase="ended").update(user_level=3)
    factories.make_job(
        sim.cluster, "new", phase="ended", submit=now() - 60, user_level=1, ended_at=clock.now(),
        start=now() - 50, time_limit_s=900, request={"nodes": 2, "per_node": {"cpu": 4, "gpu": 1}},
    )  # fmt: skip
    assert not known.read()
    after = known.of("x", [])
    assert after[:-1].tolist() == before.tolist()
    assert after[-1, [SUBMITTED, NODES, CPUS, GPUS, LASTS]].tolist() == [now() - 60, 2, 8, 2, 50]
    again = read_seen_jobs(Job.objects.filter(job_id="new"))
    assert len(known.of("x", again)) == 24, "who is there again is none of them"
    sim.port.advance(8 * 86_400)
    known.read()
    assert not len(known.of("x", []))
