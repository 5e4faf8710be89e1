"""What victims save before they are stopped: asked for, acknowledged, stopped at once, resumed from."""

import pytest

from console.audit.models import AuditEntry
from console.steering.models import Checkpoint, PlannedAction
from console.steering.past import cleaned, saved_word
from scheduler.adapters.simulator.faults import ActionFault, FaultEffect
from scheduler.adapters.simulator.jobs import OnSignal
from scheduler.model.actions import ActionKind
from scheduler.model.jobs import JobState
from tests.steering.conftest import Sim
from tests.steering.explanations.test_waiting import ask, said

SAVES = {"on_signal": OnSignal.CHECKPOINT}


def test_a_victim_that_has_saved_is_stopped_long_before_its_grace_is_over(sim: Sim) -> None:
    sim.policy(grace_s=60)
    low = sim.running("ann", 8, **SAVES)
    urgent = sim.submit("cy", 6)

    sim.cycles(8)

    assert sim.state(urgent) is JobState.RUNNING
    assert sim.port.job(low).saved_s > 0
    row = Checkpoint.objects.get()
    assert (row.job_id, row.run_restarts, row.via) == (low, 0, "comment")
    assert row.saved == f"seconds={sim.port.job(low).saved_s}"
    told = AuditEntry.objects.get(action="checkpoint.acknowledged")
    assert told.after == {"job": low, "saved": row.saved, "via": "comment"}


def test_a_victim_that_says_nothing_has_its_whole_grace(sim: Sim) -> None:
    sim.policy(grace_s=10)
    low = sim.running("ann", 8)
    sim.submit("cy", 6)

    sim.cycles(10)
    assert sim.state(low) is JobState.RUNNING
    sim.cycles(4)

    assert sim.port.job(low).restarts == 1
    assert Checkpoint.objects.get().acknowledged_at is None


def test_all_victims_of_a_plan_are_waited_for_and_then_stopped_together(sim: Sim) -> None:
    sim.policy(grace_s=60)
    quick = sim.running("ann", 4, **SAVES)
    slow = sim.running("ann", 4, checkpoint_s=6, **SAVES)
    urgent = sim.submit("cy", 8)

    sim.cycles(6)
    assert Checkpoint.objects.get(job_id=quick).acknowledged_at
    assert [sim.state(job) for job in (quick, slow)] == [JobState.RUNNING] * 2
    sim.cycles(8)

    assert sim.state(urgent) is JobState.RUNNING
    stops = sim.actions(ActionKind.REQUEUE_HOLD)
    assert len({stop.issued_at for stop in stops}) == 1


def test_a_victim_that_ends_in_its_grace_is_not_waited_for(sim: Sim) -> None:
    sim.policy(grace_s=60)
    sim.running("ann", 4, **SAVES)
    sim.running("ann", 4, run_time_s=5)
    urgent = sim.submit("cy", 8)

    sim.cycles(12)

    assert sim.state(urgent) is JobState.RUNNING


def test_an_old_acknowledgement_does_not_count(sim: Sim) -> None:
    sim.policy(grace_s=10)
    low = sim.running("ann", 8, comment="project=alpha ckpt:epoch=3")
    sim.port.job(low).comment = "project=alpha ckpt:epoch=3"
    sim.submit("cy", 6)
    sim.cycles(5)
    sim.port.job(low).comment = "ckpt:epoch=3 and a word of mine"

    sim.cycles(3)

    assert Checkpoint.objects.get().acknowledged_at is None
    assert sim.state(low) is JobState.RUNNING


def test_an_acknowledgement_that_is_seen_after_the_stop_is_kept(sim: Sim) -> None:
    sim.policy(grace_s=3)
    low = sim.running("ann", 8)
    sim.submit("cy", 6)
    sim.cycles(4)
    sim.port.job(low).comment = "ckpt:epoch=7"

    sim.cycles(2)

    assert Checkpoint.objects.get().saved == "epoch=7"


def test_where_it_resumed_is_noted_although_the_plan_is_long_over(sim: Sim) -> None:
    sim.policy(grace_s=60)
    low = sim.running("ann", 8, **SAVES)
    sim.submit("cy", 8, run_time_s=20)
    sim.cycles(12)
    assert sim.plan().state == "verified"
    assert Checkpoint.objects.get().resumed_at is None

    sim.cycles(15, every_s=2)

    assert sim.state(low) is JobState.RUNNING
    row = Checkpoint.objects.get()
    assert row.resumed_at and row.resumed_restarts == 1


def test_a_run_is_asked_once_whatever_answers_are_lost(sim: Sim) -> None:
    sim.policy(grace_s=30)
    sim.running("ann", 8, **SAVES)
    sim.submit("cy", 6)
    sim.port.faults.actions.append(ActionFault(FaultEffect.LOSE_REQUEST, kind=ActionKind.SIGNAL, times=1))

    sim.cycles(20, every_s=2)

    assert Checkpoint.objects.count() == 1
    assert sim.plan().state == "verified"


def test_a_victim_without_a_script_cannot_be_asked_and_is_stopped_all_the_same(sim: Sim) -> None:
    """Where the partition allows cancelling, an interactive job gets its grace and is ended."""
    sim.policy(grace_s=5, cancel_if_not_requeueable=True)
    notebook = sim.running("ann", 8, batch=False)
    urgent = sim.submit("cy", 6)

    sim.cycles(4)
    assert sim.state(notebook) is JobState.RUNNING
    assert not Checkpoint.objects.exists()
    sim.cycles(6)

    assert sim.state(notebook) is None
    assert sim.state(urgent) is JobState.RUNNING


def test_the_words_left_with_the_victim_name_the_plan(sim: Sim) -> None:
    sim.policy(user_overrides={"ann": "P3", "c*": "P0"})
    low = sim.running("ann", 8, comment="project=alpha")
    urgent = sim.submit("c\ny\x07" + "x" * 80, 6, run_time_s=10)
    sim.cycles(2)
    plan = sim.plan()
    words = f"giveway: plan {plan.pk} stopped this job to make room for {urgent} (c y {'x' * 36})"
    assert sim.port.job(low).admin_comment == words

    sim.cycles(4)

    assert sim.port.job(low).admin_comment == f"{words}, which runs; it goes on when there is room"
    assert sim.port.job(low).comment == "project=alpha"


def test_the_word_that_counts_is_a_new_one_and_the_last() -> None:
    assert saved_word("", "ckpt:epoch=1") == "epoch=1"
    assert saved_word("ckpt:epoch=1 mine", "mine ckpt:epoch=2") == "epoch=2"
    assert saved_word("mine", "ckpt:a ckpt:b") == "b"
    assert saved_word("ckpt:epoch=1", "ckpt:epoch=1") == ""
    assert saved_word("", "my ckpt: no ckptx:1") == ""
    assert len(saved_word("", "ckpt:" + "x" * 5000)) == 200
    assert cleaned("a\x1b[31m\nb") == "a [31m b"


@pytest.mark.parametrize("answer", ["comment", "none"])
def test_a_plan_that_is_undone_stops_nobody_whatever_was_saved(sim: Sim, answer: str) -> None:
    sim.policy(grace_s=60)
    low = sim.running("ann", 8, on_signal=OnSignal.CHECKPOINT if answer == "comment" else OnSignal.IGNORE)
    urgent = sim.submit("cy", 6)
    sim.cycle()
    sim.port.cancel(urgent)

    sim.cycles(8)

    assert sim.port.job(low).restarts == 0
    assert not PlannedAction.objects.filter(kind="requeue_hold", state__in=("issued", "verified")).exists()


def _waiting_for(sim: Sim, job: str) -> str:
    """A job that runs only after the other one's success."""
    return sim.submit("ann", 1, dependency=f"afterok:{job}")


def test_who_others_wait_for_is_stopped_without_a_signal_that_could_end_it(sim: Sim) -> None:
    """Ended by the signal it would have failed, and those that wait for its success would never start."""
    sim.policy(grace_s=5)
    low = sim.running("ann", 8, on_signal=OnSignal.DIE)
    after = _waiting_for(sim, low)
    urgent = sim.submit("cy", 8)

    sim.cycles(12)

    assert sim.state(urgent) is JobState.RUNNING
    assert sim.port.job(low).restarts == 1
    assert [(a.state, a.detail) for a in sim.actions(ActionKind.SIGNAL)] == [
        (
            "expired",
            "Not sent: others wait for its end, and a script that does not catch the signal would end by it.",
        )
    ]
    (waits,) = [job for job in sim.port.observe().jobs if job.id == after]
    assert waits.dependency == f"afterok:{low}"
    assert "It was not asked to save its state: others wait for its end" in said(ask(sim, low))


def test_who_is_known_to_catch_it_is_asked_whoever_waits(sim: Sim) -> None:
    sim.policy(grace_s=60)
    low = sim.running("ann", 8, comment="ckpt:none", **SAVES)
    _waiting_for(sim, low)
    urgent = sim.submit("cy", 8)

    sim.cycles(8)

    assert sim.state(urgent) is JobState.RUNNING
    assert Checkpoint.objects.get(job_id=low).acknowledged_at is not None
