"""When a job may begin, at Giveway's wish: not before a moment, or at once; what its user has said stays."""

from scheduler.model.actions import Action, ActionKind, ActionOutcome, OutcomeKind, keep_value
from scheduler.model.jobs import JobState, ObservedJob, RunKey
from scheduler.reconcile.blocking import why_blocked
from tests.contract.harness import CPUS, Harness, Work, fill, find, start, state_of, wait_for, wait_pending

FULL = Work("ann", "waits", cpus=CPUS, only_nodes=("n1",))
LONG_S = 110
"""Within the two minutes in which a job is looked at for what Giveway has told it; a busy machine needs a while."""


def _begin(harness: Harness, job: ObservedJob, seconds: int) -> ActionOutcome:
    """Let it begin so many seconds from now."""
    moment = harness.cluster.observe().taken_at + seconds
    return harness.cluster.apply([Action(ActionKind.BEGIN, job.run, value=str(moment))])[0]


def _put_off(harness: Harness, work: Work = FULL, seconds: int = LONG_S) -> ObservedJob:
    """A job that could start, were it not put off."""
    filled = fill(harness, "n1")["n1"]
    job = wait_pending(harness, work)
    assert _begin(harness, job, seconds).kind is OutcomeKind.DONE
    harness.cancel(filled.id)
    harness.wait_until(lambda seen: state_of(seen, filled.id) is None, "n1 free")
    return job


def test_it_does_not_start_before_and_is_told_as_one_that_waits_for_room_only(harness: Harness) -> None:
    job = _put_off(harness)
    harness.pass_time(4)
    seen = harness.cluster.observe()
    waits = find(seen, job.id)
    assert (waits.state, waits.to_be_placed, waits.held) == (JobState.PENDING, True, False)
    assert waits.eligible is not None
    assert waits.eligible > seen.taken_at + 30
    assert why_blocked(waits, "UP", seen.taken_at) == ""


def test_a_moment_that_is_past_lets_it_start_at_once(harness: Harness) -> None:
    job = _put_off(harness)
    assert _begin(harness, job, -1).kind is OutcomeKind.DONE
    seen = wait_for(harness, JobState.RUNNING, job.id)
    assert find(seen, job.id).to_be_placed is False
    assert harness.admin_comment(job.id) in ("", "(null)")


def test_it_starts_by_itself_when_nobody_asks_again(harness: Harness) -> None:
    job = _put_off(harness, seconds=8)
    wait_for(harness, JobState.RUNNING, job.id)


def test_it_is_asked_for_again_and_again(harness: Harness) -> None:
    filled = fill(harness, "n1")["n1"]
    job = wait_pending(harness, FULL)
    assert _begin(harness, job, 6).kind is OutcomeKind.DONE
    first = find(harness.cluster.observe(), job.id).eligible
    assert first is not None
    # Before there is room: a busy machine may take longer than six seconds to see a job end.
    assert _begin(harness, job, LONG_S).kind is OutcomeKind.DONE
    harness.cancel(filled.id)
    seen = harness.wait_until(
        lambda seen: state_of(seen, filled.id) is None and seen.taken_at > first + 2,
        "n1 free, and its moment past",
    )
    later = find(seen, job.id)
    assert (later.state, later.to_be_placed) == (JobState.PENDING, True)
    assert (later.eligible or 0) > first + 60


def test_on_nodes_that_are_kept_for_it_it_starts_there(harness: Harness) -> None:
    """Though the ones before them are as free: n1 would be taken first."""
    full = fill(harness, "n1", "n2", "n3", "n4")
    job = wait_pending(harness, Work("ann", "two", nodes=2, cpus=CPUS))
    _begin(harness, job, LONG_S)
    for other in full.values():
        harness.cancel(other.id)
    harness.wait_until(lambda seen: len(seen.jobs) == 1, "all free")
    until = harness.cluster.observe().taken_at + 120
    kept = Action(ActionKind.KEEP, job.run, value=keep_value(until, ("n3", "n4")))
    assert harness.cluster.apply([kept])[0].ok
    assert _begin(harness, job, -1).ok
    seen = wait_for(harness, JobState.RUNNING, job.id)
    assert set(find(seen, job.id).alloc) == {"n3", "n4"}


def test_a_begin_time_of_its_user_is_left_alone(harness: Harness) -> None:
    job = wait_pending(harness, Work("ann", "later", begin_in_s=3000))
    before = find(harness.cluster.observe(), job.id)
    assert before.to_be_placed is False
    for seconds in (-1, 6000):
        assert _begin(harness, job, seconds).kind is OutcomeKind.REFUSED
    after = find(harness.cluster.observe(), job.id)
    assert (after.eligible, after.to_be_placed) == (before.eligible, False)


def test_whom_it_cannot_be_said_of(harness: Harness) -> None:
    running = start(harness, Work())
    assert _begin(harness, running, 60).kind is OutcomeKind.ALREADY
    gone = Action(ActionKind.BEGIN, RunKey("987654", 0), value="4000000000")
    assert harness.cluster.apply([gone])[0].kind is OutcomeKind.GONE
    fill(harness, "n2", "n3", "n4")
    array = harness.submit(Work("ann", "tasks", cpus=CPUS, array_tasks=2))
    task = find(wait_for(harness, JobState.PENDING, f"{array}_1"), f"{array}_1")
    assert _begin(harness, task, 60).kind is OutcomeKind.REFUSED
    job = wait_pending(harness, Work("bob", "waits", nodes=4, cpus=CPUS))
    for value in ("", "soon", "-5", "0", "99999999999"):
        odd = harness.cluster.apply([Action(ActionKind.BEGIN, job.run, value=value)])[0]
        assert odd.kind is OutcomeKind.REFUSED, value
