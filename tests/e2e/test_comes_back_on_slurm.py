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


SAVES = """
import signal, time
signal.signal(signal.SIGUSR1, lambda *_: open("saved", "w").write("yes"))
print("ready", flush=True)
while True:
    time.sleep(1)
"""
IN_A_STEP = f"#!/bin/bash\nrm -f saved\ncat > save.py <<'END'\n{SAVES}END\nsrun -n1 python3 -u save.py\n"
WITH_EXEC = IN_A_STEP.replace("srun -n1", "exec srun -n1")


@pytest.mark.parametrize("script", [IN_A_STEP, WITH_EXEC], ids=["called", "exec"])
def test_a_handler_in_a_step_is_reached_where_the_job_says_so(driver: Driver, script: str) -> None:
    driver.policy(
        "x", mode="user", levels=LEVELS, grace_s=8, user_overrides=OVERRIDES, asked_to_save="who_saves"
    )
    low = driver.submit("ann", "low", *WHOLE, "--comment=ckpt:steps", script=script)
    said = driver.slurm.work / "ann" / f"slurm-{low}.out"
    driver.slurm.wait_until(lambda: said.exists() and "ready" in said.read_text(), "the step is ready")
    driver.submit("cy", "urgent", *WHOLE, script=NAIVE)
    driver.steer_until_running("urgent")
    driver.steer_until_settled()

    assert (driver.slurm.work / "ann" / "saved").read_text() == "yes"
    assert driver.states()["low"] == "PENDING"
    assert driver.restarts()["low"] == 1


def test_who_does_not_say_that_it_saves_ends_for_nobody_who_waits_for_it(driver: Driver) -> None:
    """A chain of every kind that waits for an end, and the next one of its name: none begins while it is stopped."""
    driver.policy(
        "x", mode="user", levels=LEVELS, grace_s=5, user_overrides=OVERRIDES, asked_to_save="who_saves"
    )
    low = driver.running("ann", "chain", *WHOLE, script="#!/bin/bash\nsleep 600\n")
    after = [f"--dependency={kind}:{low}" for kind in ("afterok", "afternotok", "afterany", "aftercorr")]
    small = ("-p", "x", "-n1", "-c1")
    for number, words in enumerate([*after, "--dependency=singleton"]):
        own = driver.slurm.submit("ann", "-J", "chain", *small, words, script=NAIVE)
        driver.ids[f"next{number}"] = str(own)
    driver.submit("cy", "urgent", "-p", "x", "-N1", "-n1", "-c4", script=NAIVE)
    driver.steer_until_running("urgent")
    driver.steer_until_settled()
    driver.steer_quietly()

    states = driver.states()
    assert {states[f"next{number}"] for number in range(5)} == {"PENDING"}
    assert states["chain"] == "PENDING"
    assert driver.restarts()["chain"] == 1
