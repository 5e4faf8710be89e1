"""On a real Slurm: whoever is stopped comes back to its place, in whatever way its script answers the signal."""

import pytest

from console.steering.models import Plan
from tests.e2e.slurm_driver import NAIVE, READY, SLEEP, Driver

pytestmark = [pytest.mark.slurm, pytest.mark.every_release, pytest.mark.e2e]

LEVELS = [{"name": f"P{n}", "keyword": f"l{n}"} for n in range(4)]
OVERRIDES = {"ann": "P3", "cy": "P0"}
WHOLE = ("-p", "x", "-N", "1", "-n", "1", "-c", "8")
LOOP = "while true; do sleep 600 & wait $!; done\n"
SCRIPTS = {
    "no trap": NAIVE,
    "trap that goes on": SLEEP,
    "trap that requeues": f"#!/bin/bash\ntrap 'scontrol requeue $SLURM_JOB_ID; sleep 30' USR1\n{READY}{LOOP}",
    "trap that ends well": f"#!/bin/bash\ntrap 'exit 0' USR1\n{READY}{LOOP}",
    "exec srun": f"#!/bin/bash\n{READY}exec srun sleep 600\n",
}


@pytest.mark.parametrize("way", SCRIPTS)
def test_a_victim_runs_again_before_those_who_came_after_it(driver: Driver, way: str) -> None:
    """Its grace is three seconds; two jobs of its own user and level were submitted after it."""
    driver.policy("x", mode="user", levels=LEVELS, grace_s=3, user_overrides=OVERRIDES)
    driver.running("ann", "low", *WHOLE, script=SCRIPTS[way])
    for number in range(2):
        driver.submit("ann", f"later{number}", *WHOLE, script=NAIVE)
    driver.submit("cy", "urgent", *WHOLE, script=NAIVE)
    driver.steer_until_running("urgent")
    driver.steer_until_settled()
    ended = driver.states()["low"] == "ENDED"
    assert ended == (way == "trap that ends well")

    driver.cancel("urgent")
    back = "later0" if ended else "low"
    driver.steer_until_running(back)
    driver.steer_until_settled()

    assert [name for name, state in driver.states().items() if state == "RUNNING"] == [back]
    assert len(Plan.objects.filter(partition="x")) == 1
