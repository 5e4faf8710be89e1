"""On a real Slurm: a job that the checkpoint signal ends and that is not put back is lost, and told as an incident."""

from collections.abc import Sequence
from typing import Any

import pytest

from console.steering.models import Fate, Incident, Pause, Plan, PlannedAction, Victim
from scheduler.adapters.slurm.write import Writer
from scheduler.model.actions import Action, ActionKind, ActionOutcome, OutcomeKind
from tests.e2e.slurm_driver import NAIVE, Driver

pytestmark = [pytest.mark.slurm, pytest.mark.e2e]

LEVELS = [{"name": f"P{n}", "keyword": f"l{n}"} for n in range(4)]


def test_two_jobs_ended_failed_and_never_came_back(driver: Driver, monkeypatch: pytest.MonkeyPatch) -> None:
    """README's ¶81, with a signal that no script catches and a Slurm that does not put the jobs back."""
    honest = Writer.apply

    def apply(writer: Writer, actions: Sequence[Action], *rest: Any) -> list[ActionOutcome]:
        if actions and actions[0].kind is ActionKind.RECOVER:
            return [ActionOutcome(OutcomeKind.GONE, "the job ended, but not by the signal") for _ in actions]
        return honest(writer, actions, *rest)

    monkeypatch.setattr(Writer, "apply", apply)
    driver.policy(
        "x", mode="user_then_task", levels=LEVELS, grace_s=3, checkpoint_signal="USR1",
        user_overrides={"ann": "P1", "cy": "P1", "bob": "P3"},
    )  # fmt: skip
    kept = driver.submit("ann", "l1_a3", "-p", "x", "-n1", "-c2", script=NAIVE)
    second = driver.submit("ann", "l2_a4", "-p", "x", "-n1", "-c2", script=NAIVE)
    first = driver.submit("bob", "l1_b1", "-p", "x", "-n1", "-c4", script=NAIVE)
    driver.steer_until(lambda: set(driver.states().values()) == {"RUNNING"}, "all three run")
    urgent = driver.submit("cy", "l1_c", "-p", "x", "-n1", "-c6")

    driver.steer_until_running("l1_c")
    driver.steer_until_settled()

    plan = Plan.objects.get()
    lost = " and ".join(sorted((second, first), key=int))
    assert (plan.state, plan.outcome) == ("verified", f"{urgent} started. {lost} were lost.")
    assert {row.fate for row in Victim.objects.all()} == {Fate.LOST}
    assert {row.words for row in Victim.objects.all()} == {
        "It ended (FAILED, signal 10) and was not put back into the queue."
    }
    assert not PlannedAction.objects.filter(detail="It was never stopped.").exists()
    assert {incident.job_id for incident in Incident.objects.all()} == {first, second}
    assert Pause.objects.get().partition == "x"
    assert driver.states()["l1_a3"] == "RUNNING", kept
