"""Why did my job not come back? It says so, and what to do."""

from console.steering.explanations import Stage, why
from tests.steering.conftest import Sim
from tests.steering.test_victims import killed_and_forgotten


def test_the_owner_of_a_lost_job_reads_that_it_did_not_come_back(sim: Sim) -> None:
    low, urgent = killed_and_forgotten(sim)
    sim.cycles(20)

    answer = why(sim.cluster, low)

    assert answer is not None
    assert answer.headline == f"It was stopped to make room for {urgent} (cy), and did not come back."
    assert answer.comes_back is not None and answer.comes_back.stage is Stage.LOST
    assert answer.comes_back.text == (
        "It did not come back: submit it again. It ended (FAILED, signal 10) and was not put back into the queue."
    )


def test_a_job_that_is_back_in_the_queue_is_not_told_as_lost(sim: Sim) -> None:
    sim.policy()
    low = sim.running("ann", 8)
    sim.submit("cy", 6, run_time_s=300)
    sim.cycles(8)

    answer = why(sim.cluster, low)

    assert answer is not None and answer.comes_back is not None
    assert answer.comes_back.stage is Stage.RELEASED
