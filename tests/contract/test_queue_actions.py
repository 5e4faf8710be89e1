"""Contract: actions on pending jobs: putting first, holding, releasing; answers when nothing is to do."""

from dataclasses import replace

import pytest

from scheduler.model.actions import HELD_BY_USER, Action, ActionKind, OutcomeKind
from scheduler.model.jobs import JobState, ObservedJob, RunKey
from tests.contract.harness import (
    HIGHEST,
    Harness,
    Work,
    apply_to,
    fill,
    find,
    start,
    state_of,
    wait_for,
    wait_pending,
)

VALUES = {
    ActionKind.PRIORITISE: HIGHEST,
    ActionKind.SIGNAL: "USR1",
    ActionKind.PLACE: "-5",
    ActionKind.RESIZE: "1",
    ActionKind.SHRINK: "n1",
    ActionKind.KEEP: "4000000000 n1",
    ActionKind.BEGIN: "4000000000",
}
WHOLE = Work(partitions=("x",), cpus=8)


def test_the_prioritised_job_starts_before_those_that_came_first(harness: Harness) -> None:
    filler = fill(harness, "n1")["n1"]
    first, second = wait_pending(harness, WHOLE), wait_pending(harness, WHOLE)

    [outcome] = apply_to(harness, ActionKind.PRIORITISE, second, value=HIGHEST)
    assert outcome.kind is OutcomeKind.DONE
    assert find(harness.cluster.observe(), second.id).priority == int(HIGHEST)
    harness.cancel(filler.id)

    seen = wait_for(harness, JobState.RUNNING, second.id)
    assert state_of(seen, first.id) is JobState.PENDING


def test_a_restored_priority_puts_a_job_back_into_its_place(harness: Harness) -> None:
    filler = fill(harness, "n1")["n1"]
    first, second = wait_pending(harness, WHOLE), wait_pending(harness, WHOLE)

    assert apply_to(harness, ActionKind.PRIORITISE, second, value=HIGHEST)[0].ok
    assert apply_to(harness, ActionKind.RESTORE_PRIORITY, second)[0].ok
    restored = find(harness.cluster.observe(), second.id)
    assert not restored.held
    assert 0 < restored.priority < int(HIGHEST)
    harness.cancel(filler.id)

    seen = wait_for(harness, JobState.RUNNING, first.id)
    assert state_of(seen, second.id) is JobState.PENDING


def test_a_held_job_stays_where_it_is_until_it_is_released(harness: Harness) -> None:
    filler = fill(harness, "n1")["n1"]
    job = wait_pending(harness, WHOLE)

    assert apply_to(harness, ActionKind.HOLD, job)[0].kind is OutcomeKind.DONE
    harness.cancel(filler.id)
    wait_for(harness, None, filler.id)
    harness.pass_time(3)
    held = find(harness.cluster.observe(), job.id)
    assert (held.state, held.held, held.priority) == (JobState.PENDING, True, 0)

    assert apply_to(harness, ActionKind.RELEASE, held)[0].kind is OutcomeKind.DONE
    assert not find(wait_for(harness, JobState.RUNNING, job.id), job.id).held


def test_a_release_leaves_the_hold_of_the_jobs_user(harness: Harness) -> None:
    """One that he set before, and one that he set over our stop: for that he has to release it first."""
    before = wait_pending(harness, Work(held=True))
    stopped = _stopped(harness)
    harness.release("ann", stopped.id)
    harness.hold("ann", stopped.id)

    outcomes = [
        harness.cluster.apply([Action(ActionKind.RELEASE, job.run, of_stop=of_stop)])[0]
        for job, of_stop in ((before, False), (stopped, True))
    ]

    assert [(each.kind, each.detail) for each in outcomes] == [(OutcomeKind.REFUSED, HELD_BY_USER)] * 2
    held = harness.wait_until(
        lambda seen: find(seen, stopped.id).slurm_reason == "JobHeldUser", "the job held by its user"
    )
    assert find(held, before.id).slurm_reason == "JobHeldUser"


def test_what_giveway_stopped_waits_for_the_time_that_its_user_has_set_since(harness: Harness) -> None:
    stopped = _stopped(harness)
    harness.begin_in("ann", stopped.id, 7200)
    wished = find(harness.cluster.observe(), stopped.id).eligible

    assert harness.cluster.apply([Action(ActionKind.RELEASE, stopped.run, of_stop=True)])[0].ok

    seen = harness.wait_until(
        lambda seen: find(seen, stopped.id).slurm_reason == "BeginTime", "the job waiting for its time"
    )
    released = find(seen, stopped.id)
    assert (released.held, released.eligible) == (False, wished)
    assert apply_to(harness, ActionKind.RELEASE, released)[0].kind is OutcomeKind.ALREADY
    assert find(harness.cluster.observe(), stopped.id).eligible == wished


def _stopped(harness: Harness) -> ObservedJob:
    """A job of ann's that Giveway has stopped, as it waits, held."""
    job = start(harness, Work())
    assert apply_to(harness, ActionKind.REQUEUE_HOLD, job)[0].ok
    return find(wait_for(harness, JobState.PENDING, job.id), job.id)


def test_a_release_leaves_the_time_that_the_user_has_chosen(harness: Harness) -> None:
    job = wait_pending(harness, Work(begin_in_s=3000))
    assert apply_to(harness, ActionKind.HOLD, job)[0].ok

    assert apply_to(harness, ActionKind.RELEASE, job)[0].kind is OutcomeKind.DONE

    seen = harness.wait_until(
        lambda seen: find(seen, job.id).slurm_reason == "BeginTime", "the job waiting for its time"
    )
    assert not find(seen, job.id).held
    assert apply_to(harness, ActionKind.RELEASE, job)[0].kind is OutcomeKind.ALREADY
    harness.pass_time(3)
    assert state_of(harness.cluster.observe(), job.id) is JobState.PENDING


def test_restoring_the_priority_of_a_held_job_does_not_release_it(harness: Harness) -> None:
    job = wait_pending(harness, Work(held=True))

    assert apply_to(harness, ActionKind.RESTORE_PRIORITY, job)[0].kind is OutcomeKind.ALREADY

    harness.pass_time(2)
    assert find(harness.cluster.observe(), job.id).held


def test_an_actions_comment_is_left_with_the_job_and_its_users_own_stays(harness: Harness) -> None:
    fill(harness, "n1")
    job = wait_pending(harness, Work(partitions=("x",), comment="mine"))
    words = "held for <plan 87>; it's over quota | P1"

    outcomes = harness.cluster.apply([Action(ActionKind.HOLD, job.run, comment=words)])

    assert outcomes[0].ok
    assert harness.admin_comment(job.id) == words
    assert find(harness.cluster.observe(), job.id).comment == "mine"


def test_a_job_that_is_let_go_on_first_runs_before_all_that_waited(harness: Harness) -> None:
    """Nobody slips in between its release and its place in line: there is none."""
    stopped = start(harness, Work("ann", "stopped", ("x",), cpus=8))
    assert apply_to(harness, ActionKind.REQUEUE_HOLD, stopped)[0].ok
    held = find(wait_for(harness, JobState.PENDING, stopped.id), stopped.id)
    filler = fill(harness, "n1")["n1"]
    others = [wait_pending(harness, WHOLE) for _ in range(2)]
    assert apply_to(harness, ActionKind.PRIORITISE, others[1], value="3000000000")[0].ok

    assert apply_to(harness, ActionKind.RELEASE, held, value=HIGHEST)[0].kind is OutcomeKind.DONE
    released = find(harness.cluster.observe(), held.id)
    assert (released.held, released.priority) == (False, int(HIGHEST))
    harness.cancel(filler.id)

    seen = wait_for(harness, JobState.RUNNING, held.id)
    assert {state_of(seen, other.id) for other in others} == {JobState.PENDING}


@pytest.mark.parametrize("kind", [ActionKind.PRIORITISE, ActionKind.RESTORE_PRIORITY, ActionKind.HOLD])
def test_doing_it_twice_is_as_good_as_once(harness: Harness, kind: ActionKind) -> None:
    fill(harness, "n1")
    job = wait_pending(harness, WHOLE)
    value = VALUES.get(kind, "")

    assert apply_to(harness, kind, job, value=value)[0].ok
    after_once = find(harness.cluster.observe(), job.id)
    assert apply_to(harness, kind, job, value=value)[0].ok

    after_twice = find(harness.cluster.observe(), job.id)
    assert (after_twice.priority, after_twice.held) == (after_once.priority, after_once.held)


def test_releasing_what_runs_already_is_a_success_and_changes_nothing(harness: Harness) -> None:
    job = start(harness, Work())

    assert apply_to(harness, ActionKind.RELEASE, job)[0].kind is OutcomeKind.ALREADY
    assert find(harness.cluster.observe(), job.id).run == job.run


def test_holding_a_job_that_has_started_meanwhile_does_not_stop_it(harness: Harness) -> None:
    filler = fill(harness, "n1")["n1"]
    pending = wait_pending(harness, WHOLE)
    harness.cancel(filler.id)
    running = find(wait_for(harness, JobState.RUNNING, pending.id), pending.id)

    assert apply_to(harness, ActionKind.HOLD, pending)[0].kind is OutcomeKind.GONE
    harness.pass_time(2)
    assert find(harness.cluster.observe(), pending.id).run == running.run


@pytest.mark.parametrize("kind", list(ActionKind))
def test_an_action_on_a_job_that_does_not_exist_answers_gone(harness: Harness, kind: ActionKind) -> None:
    action = Action(kind, RunKey("987654", 1_600_000_000, 0), value=VALUES.get(kind, ""))

    [outcome] = harness.cluster.apply([action])

    if kind is ActionKind.LET_GO:  # Nothing is kept for it, as wished.
        assert outcome.kind is OutcomeKind.ALREADY
        return
    assert outcome.kind is OutcomeKind.GONE
    assert outcome.detail


def test_one_bad_job_does_not_spoil_a_call_for_many(harness: Harness) -> None:
    fill(harness, "n1")
    jobs = [wait_pending(harness, WHOLE) for _ in range(2)]
    runs = [jobs[0].run, RunKey("987654", 0, 0), jobs[1].run]

    outcomes = harness.cluster.apply([Action(ActionKind.HOLD, run) for run in runs])

    assert [outcome.kind for outcome in outcomes] == [OutcomeKind.DONE, OutcomeKind.GONE, OutcomeKind.DONE]
    seen = harness.cluster.observe()
    assert all(find(seen, job.id).held for job in jobs)


def test_nothing_to_do_is_nothing_done(harness: Harness) -> None:
    assert list(harness.cluster.apply([])) == []


# --- A place by nice --------------------------------------------------------------------------------------


def test_a_nice_moves_a_job_and_taken_back_it_is_where_it_was(harness: Harness) -> None:
    filler = fill(harness, "n1")["n1"]
    first, second = wait_pending(harness, WHOLE), wait_pending(harness, WHOLE)

    assert apply_to(harness, ActionKind.PLACE, second, value="-1000000")[0].kind is OutcomeKind.DONE
    raised = find(harness.cluster.observe(), second.id)
    assert raised.nice == -1_000_000
    assert (
        1_000_000 <= raised.priority - second.priority + 1 <= 1_000_001
    )  # Slurm says 1 of what has nothing.
    assert apply_to(harness, ActionKind.PLACE, second, value="0")[0].kind is OutcomeKind.DONE
    back = find(harness.cluster.observe(), second.id)
    assert (back.nice, back.priority) == (0, second.priority)
    assert apply_to(harness, ActionKind.PLACE, second, value="-1000000")[0].ok
    harness.cancel(filler.id)

    seen = wait_for(harness, JobState.RUNNING, second.id)
    assert state_of(seen, first.id) is JobState.PENDING


def test_many_jobs_and_tasks_of_arrays_get_their_nice_together(harness: Harness) -> None:
    fill(harness, "n1")
    single = wait_pending(harness, WHOLE)
    array = harness.submit(replace(WHOLE, array_tasks=4))
    tasks = [f"{array}_{number}" for number in range(4)]
    seen = wait_for(harness, JobState.PENDING, *tasks)
    chosen = [single, *(find(seen, task) for task in (tasks[0], tasks[2], tasks[3]))]

    outcomes = apply_to(harness, ActionKind.PLACE, *chosen, value="-7")

    assert [outcome.kind for outcome in outcomes] == [OutcomeKind.DONE] * 4
    after = harness.cluster.observe()
    assert {job.id: job.nice for job in after.jobs if job.state is JobState.PENDING} == {
        single.id: -7, tasks[0]: -7, tasks[1]: 0, tasks[2]: -7, tasks[3]: -7,
    }  # fmt: skip
    assert apply_to(harness, ActionKind.PLACE, *chosen, value="-9")[0].ok
    assert {find(harness.cluster.observe(), job.id).nice for job in chosen} == {-9}


def test_a_job_that_is_held_gets_no_nice_and_stays_held(harness: Harness) -> None:
    fill(harness, "n1")
    job = wait_pending(harness, WHOLE)
    assert apply_to(harness, ActionKind.HOLD, job)[0].ok

    assert apply_to(harness, ActionKind.PLACE, job, value="-5")[0].kind is OutcomeKind.REFUSED

    held = find(harness.cluster.observe(), job.id)
    assert (held.held, held.nice) == (True, 0)


@pytest.mark.parametrize("value", ["", "many", "2147483646", "-2147483646", "1e3", "--5"])
def test_a_nice_that_slurm_would_not_take_is_refused(harness: Harness, value: str) -> None:
    fill(harness, "n1")
    job = wait_pending(harness, WHOLE)

    assert apply_to(harness, ActionKind.PLACE, job, value=value)[0].kind is OutcomeKind.REFUSED
    assert find(harness.cluster.observe(), job.id).nice == 0


def test_a_job_is_let_go_on_to_its_old_place_by_nice(harness: Harness) -> None:
    """Slurm puts it behind all who came later; it stands where it is told to from the first moment."""
    stopped = start(harness, Work("ann", "stopped", ("x",), cpus=8))
    assert apply_to(harness, ActionKind.REQUEUE_HOLD, stopped)[0].ok
    held = find(wait_for(harness, JobState.PENDING, stopped.id), stopped.id)
    filler = fill(harness, "n1")["n1"]
    others = [wait_pending(harness, WHOLE) for _ in range(2)]
    wished = max(job.priority for job in others) + 1

    assert apply_to(harness, ActionKind.RELEASE, held, value=f"~{wished}")[0].kind is OutcomeKind.DONE
    released = find(harness.cluster.observe(), held.id)
    assert (released.held, released.priority) == (False, wished)
    assert apply_to(harness, ActionKind.PLACE, released, value=str(released.nice - 5))[0].ok
    assert find(harness.cluster.observe(), held.id).priority == wished + 5  # Slurm still computes it.
    harness.cancel(filler.id)

    seen = wait_for(harness, JobState.RUNNING, held.id)
    assert {state_of(seen, other.id) for other in others} == {JobState.PENDING}
