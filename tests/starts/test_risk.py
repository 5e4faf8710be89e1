"""How likely a running job is stopped within the hour: said in the background, and compared with what came."""

from datetime import timedelta
from typing import Any

import numpy as np
import pytest

from console.core import clock
from console.starts.models import StopChance, StopTally
from console.starts.risk import RENEW_S, Risks
from console.steering.models import Victim
from scheduler.forecast.stop_learned import LEARNED, StopLearner
from scheduler.forecast.stop_risk import StopCalibration
from tests import factories
from tests.steering.conftest import Sim


def now() -> int:
    return int(clock.now().timestamp())


@pytest.fixture
def moments(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The clock of the process, which says when it is due again."""
    still = [1000.0]
    monkeypatch.setattr("console.starts.risk.time.monotonic", lambda: still[0])
    return still


def busy(sim: Sim, **keys: Any) -> str:
    """A full node; every hour of the last day an urgent job has come and ended."""
    sim.policy(min_wait_s=10_000, **keys)
    low = sim.running("ann", 8, time_limit_s=86_400)
    for hour in range(1, 25):
        factories.make_job(
            sim.cluster, f"9{hour}", user="cy", phase="ended", submit=now() - 3600 * hour + 1800, user_level=0,
            request={"nodes": 1, "per_node": {"cpu": 4}},
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


def test_it_is_said_again_after_a_while(sim: Sim, moments: list[float]) -> None:
    busy(sim)
    known = Risks(sim.cluster)
    assert [known.say(), known.say()] == [1, None]
    moments[0] += RENEW_S
    assert known.say() == 1


@pytest.mark.parametrize("stopped", [True, False])
def test_what_came_of_it_is_counted_and_corrects_the_next(
    sim: Sim, moments: list[float], stopped: bool
) -> None:
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
    moments[0] += 2 * RENEW_S
    known.say()

    tally, again = StopTally.objects.get(), StopChance.objects.get(job_id=low)
    assert (tally.jobs, tally.stopped) == (1, int(stopped))
    assert tally.squares == pytest.approx((first.chance - stopped) ** 2)
    assert tally.base_squares == pytest.approx(int(stopped))
    corrected = StopCalibration(tally.bins).corrected(first.drawn)
    assert (corrected > first.drawn, corrected < first.drawn) == (stopped, not stopped)
    learner = StopLearner(tally.learned)
    learned = learner.learned(np.array([first.asked_figures]))[0]
    assert (learned > first.asked_experts[LEARNED]) == stopped
    assert learner.jobs == 1
    assert again.asked_at == now()


def test_a_run_that_has_ended_is_compared_at_once(sim: Sim, moments: list[float]) -> None:
    low = busy(sim)
    known = Risks(sim.cluster)
    known.say()
    sim.port.cancel(low)
    sim.port.advance(5)
    sim.cycle()
    moments[0] += RENEW_S
    known.say()
    assert (StopTally.objects.get().jobs, StopChance.objects.filter(job_id=low).count()) == (1, 0)
