"""The switch: one call, effective within a cycle, and nothing that has been begun is left half done."""

from io import StringIO

import pytest
from django.core.management import CommandError, call_command
from pytest_django import DjangoCaptureOnCommitCallbacks

from console.audit.models import AuditEntry
from console.partitions.models import Partition
from console.steering.models import Pause, Plan, PlannedAction
from console.steering.pausing import pause, pause_of, pauses_shown, resume
from scheduler.model.actions import ActionKind
from scheduler.model.jobs import JobState
from tests.steering.conftest import Sim


def partition_of(sim: Sim, name: str = "x") -> Partition:
    found: Partition = sim.cluster.partitions.get(name=name)
    return found


def set_pause(sim: Sim, name: str = "", reason: str = "Maintenance") -> Pause:
    partition = partition_of(sim, name) if name else None
    return pause(actor="ada", cluster=sim.cluster, partition=partition, reason=reason)


@pytest.mark.parametrize("enforcement", ["enforce", "approve"])
@pytest.mark.parametrize("name", ["", "x"])
def test_while_paused_no_plan_is_made_and_the_job_says_why(sim: Sim, name: str, enforcement: str) -> None:
    sim.policy(enforcement=enforcement)
    low = sim.running("ann", 8)
    urgent = sim.submit("cy", 6)
    set_pause(sim, name)

    sim.cycles(5)

    assert not Plan.objects.exists()
    assert sim.state(low) is JobState.RUNNING
    what = "the partition x" if name else "all partitions"
    assert f"ada paused {what}: Maintenance" in sim.row(urgent).explain


def test_the_tally_in_shadow_goes_on_while_paused(sim: Sim) -> None:
    sim.policy(enforcement="shadow")
    sim.running("ann", 8)
    sim.submit("cy", 6)
    set_pause(sim)

    sim.cycles(2)

    assert sim.plan().state == "proposed"


def test_a_pause_of_one_partition_leaves_the_others_alone(sim: Sim) -> None:
    sim.policy()
    sim.policy("q")
    sim.running("ann", 8)
    urgent = sim.submit("cy", 6)
    set_pause(sim, "q")

    sim.cycles(4)

    assert sim.state(urgent) is JobState.RUNNING


def test_a_plan_in_its_grace_time_is_taken_back_in_the_next_cycle(sim: Sim) -> None:
    sim.policy(grace_s=30)
    low = sim.running("ann", 8)
    urgent = sim.submit("cy", 6)
    sim.cycles(3)
    assert sim.plan().state == "executing"

    set_pause(sim, "x")
    sim.cycle()
    assert "ada paused the partition x: Maintenance" in sim.plan().undo_reason
    sim.cycles(20, every_s=2)

    assert Plan.objects.get().state == "undone"
    assert sim.state(low) is JobState.RUNNING
    assert sim.port.job(low).restarts == 0
    assert sim.port.job(urgent).priority < 4_294_901_760
    assert not PlannedAction.objects.filter(kind=ActionKind.REQUEUE_HOLD).exclude(state="expired").exists()


def test_a_plan_whose_victims_are_stopped_already_is_finished(sim: Sim) -> None:
    sim.policy()
    low = sim.running("ann", 8)
    urgent = sim.submit("cy", 6, run_time_s=20)
    sim.cycle()
    assert [action.state for action in sim.actions(ActionKind.REQUEUE_HOLD)] == ["issued"]

    set_pause(sim)
    sim.cycles(4)

    assert sim.plan().state == "verified"
    assert sim.state(urgent) is JobState.RUNNING
    sim.port.advance(30)
    sim.cycles(2)
    assert sim.state(low) is JobState.RUNNING  # the victim is not left held


def test_after_the_pause_room_is_made(sim: Sim) -> None:
    sim.policy()
    sim.running("ann", 8)
    urgent = sim.submit("cy", 6)
    set_pause(sim)
    sim.cycles(3)

    assert resume(actor="ada", cluster=sim.cluster)
    sim.cycles(4)

    assert sim.state(urgent) is JobState.RUNNING


def test_lifting_the_pause_of_a_partition_does_not_lift_that_of_all(sim: Sim) -> None:
    sim.policy()
    sim.running("ann", 8)
    sim.submit("cy", 6)
    set_pause(sim)
    set_pause(sim, "x")

    assert resume(actor="dave", cluster=sim.cluster, partition=partition_of(sim))
    sim.cycles(3)

    assert not Plan.objects.exists()
    assert [row.partition for row in pauses_shown(sim.cluster.name)] == [""]


def test_the_first_pause_stays_and_is_told_once(sim: Sim) -> None:
    sim.policy()
    first = set_pause(sim, "x")
    again = pause(actor="dave", cluster=sim.cluster, partition=partition_of(sim), reason="Another")

    assert (again.pk, again.by, again.reason) == (first.pk, "ada", "Maintenance")
    assert pause_of(sim.cluster, partition_of(sim)) == first
    assert resume(actor="dave", cluster=sim.cluster, partition=partition_of(sim))
    assert not resume(actor="dave", cluster=sim.cluster, partition=partition_of(sim))
    told = AuditEntry.objects.filter(action__startswith="pause.").order_by("sequence")
    assert [(each.action, each.actor, each.partition, each.reason) for each in told] == [
        ("pause.set", "ada", "x", "Maintenance"),
        ("pause.lifted", "dave", "x", ""),
    ]
    assert told[0].sentence == "ada paused partition x: nobody is stopped there. Maintenance"


def test_open_pages_are_told(
    sim: Sim, django_capture_on_commit_callbacks: DjangoCaptureOnCommitCallbacks
) -> None:
    sim.cluster.refresh_from_db()
    version = sim.cluster.version
    with django_capture_on_commit_callbacks(execute=True):
        set_pause(sim)
        resume(actor="ada", cluster=sim.cluster)
        resume(actor="ada", cluster=sim.cluster)
    sim.cluster.refresh_from_db()
    assert sim.cluster.version == version + 2


# --- The commands --------------------------------------------------------------------------------------------


def told(*command: str) -> str:
    out = StringIO()
    call_command(*command, stdout=out)
    return out.getvalue()


def test_pause_and_resume_from_the_command_line(sim: Sim) -> None:
    sim.policy()
    words = told("pause", "--partition", "x", "--reason", "Maintenance", "--actor", "ada")
    assert words == "Partition x: paused by ada since 2023-11-14 22:13:20 UTC: Maintenance\n"
    assert told("pause").startswith("All partitions: paused by shell:")
    assert Pause.objects.count() == 2
    assert told("resume", "--partition", "x") == "Partition x: resumed.\n"
    assert told("resume") == "All partitions: resumed.\n"
    assert told("resume") == "All partitions: nothing was paused.\n"


@pytest.mark.parametrize(
    ("arguments", "fault"),
    [
        (("pause", "--partition", "nowhere"), "There is no partition nowhere in cluster"),
        (("resume", "--partition", "nowhere"), "There is no partition nowhere in cluster"),
        (("pause", "--actor", "Giveway"), "stands for the system itself"),
    ],
)
def test_a_wrong_command_changes_nothing(sim: Sim, arguments: tuple[str, ...], fault: str) -> None:
    with pytest.raises(CommandError, match=fault) as refused:
        call_command(*arguments)
    assert refused.value.returncode == 2
    assert not Pause.objects.exists()
