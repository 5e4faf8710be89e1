"""Nodes that are kept for a job that waits: nobody else gets them, and it ends by itself."""

from scheduler.model.actions import NOT_HELD, Action, ActionKind, ActionOutcome, OutcomeKind, keep_value
from scheduler.model.jobs import JobState, ObservedJob, RunKey
from scheduler.model.observation import Observation
from tests.contract.harness import CPUS, Harness, Work, fill, find, start, state_of, wait_for, wait_pending

LONG_S = 300
FULL = Work("bob", "small", cpus=CPUS, time_limit_min=600)


def _keep(harness: Harness, job: ObservedJob, *nodes: str, seconds: int = LONG_S) -> ActionOutcome:
    until = harness.cluster.observe().taken_at + seconds
    return harness.cluster.apply([Action(ActionKind.KEEP, job.run, value=keep_value(until, nodes))])[0]


def _let_go(harness: Harness, job: ObservedJob) -> ActionOutcome:
    return harness.cluster.apply([Action(ActionKind.LET_GO, job.run)])[0]


def _kept(seen: Observation) -> dict[str, tuple[str, ...]]:
    return {kept.job_id: kept.nodes for kept in seen.kept}


def test_only_the_job_they_are_kept_for_gets_the_nodes(harness: Harness) -> None:
    full = fill(harness, "n1", "n2", "n3", "n4")
    large = wait_pending(harness, Work("ann", "large", nodes=2, cpus=CPUS, not_nodes=("n3", "n4")))
    assert _keep(harness, large, "n1", "n2").kind is OutcomeKind.DONE
    seen = harness.cluster.observe()
    assert _kept(seen) == {large.id: ("n1", "n2")}
    assert seen.kept[0].until > seen.taken_at
    small = [harness.submit(FULL) for _ in range(2)]
    harness.cancel(full["n1"].id)
    harness.cancel(full["n3"].id)
    seen = wait_for(harness, JobState.RUNNING, small[0])
    assert set(find(seen, small[0]).alloc) == {"n3"}
    harness.pass_time(4)
    assert state_of(harness.cluster.observe(), small[1]) is JobState.PENDING, "n1 is kept"
    harness.cancel(full["n2"].id)
    seen = wait_for(harness, JobState.RUNNING, large.id)
    assert set(find(seen, large.id).alloc) == {"n1", "n2"}


def test_jobs_are_told_as_if_nothing_were_kept(harness: Harness) -> None:
    fill(harness, "n1", "n2")
    large = wait_pending(harness, Work("ann", "large", nodes=4, cpus=CPUS))
    other = wait_pending(harness, Work("bob", "other", nodes=4, cpus=CPUS))
    before = harness.cluster.observe()
    _keep(harness, large, "n1", "n2", "n3", "n4")
    after = harness.cluster.observe()
    for job in (large, other):
        assert find(after, job.id).request == find(before, job.id).request
        assert find(after, job.id).reservation == ""
        assert find(after, job.id).unplannable == ""


def test_a_node_that_is_kept_still_takes_jobs(harness: Harness) -> None:
    """Slurm calls it reserved: those that it is kept for start there all the same."""
    fill(harness, "n1", "n2")
    large = wait_pending(harness, Work("ann", "large", nodes=3, cpus=CPUS))
    _keep(harness, large, "n2", "n3", "n4")
    harness.pass_time(3)
    assert all(node.up for node in harness.cluster.observe().nodes)
    harness.drain("n3")
    up = {node.name: node.up for node in harness.cluster.observe().nodes}
    assert up == {"n1": True, "n2": True, "n3": False, "n4": True}


def test_it_ends_by_itself_and_the_job_waits_on(harness: Harness) -> None:
    full = fill(harness, "n1", "n2", "n3", "n4")
    large = wait_pending(harness, Work("ann", "large", nodes=2, cpus=CPUS))
    _keep(harness, large, "n1", "n2", seconds=5)
    harness.wait_until(lambda seen: seen.kept == (), "nothing is kept any more")
    small = harness.submit(FULL)
    harness.cancel(full["n1"].id)
    wait_for(harness, JobState.RUNNING, small)
    waits = find(harness.cluster.observe(), large.id)
    assert (waits.state, waits.held) == (JobState.PENDING, False)
    harness.cancel(full["n3"].id)
    harness.cancel(full["n4"].id)
    wait_for(harness, JobState.RUNNING, large.id)


def test_a_job_that_started_on_kept_nodes_runs_on_when_that_ends(harness: Harness) -> None:
    full = fill(harness, "n1", "n2", "n3", "n4")
    job = wait_pending(harness, Work("ann", "large", cpus=CPUS))
    _keep(harness, job, "n2", seconds=6)
    harness.cancel(full["n2"].id)
    started = find(wait_for(harness, JobState.RUNNING, job.id), job.id)
    harness.pass_time(2)
    seen = harness.wait_until(lambda seen: seen.kept == (), "nothing is kept any more")
    assert find(seen, job.id).run == started.run


def test_it_is_renewed_and_moved(harness: Harness) -> None:
    fill(harness, "n1", "n2", "n3", "n4")
    large = wait_pending(harness, Work("ann", "large", nodes=2, cpus=CPUS))
    _keep(harness, large, "n1", "n2", seconds=60)
    first = harness.cluster.observe().kept[0]
    assert _keep(harness, large, "n2", "n3", seconds=200).kind is OutcomeKind.DONE
    second = harness.cluster.observe().kept[0]
    assert second.nodes == ("n2", "n3")
    assert second.until > first.until + 100


def test_letting_go_is_for_waiting_running_and_vanished_jobs(harness: Harness) -> None:
    full = fill(harness, "n1", "n2", "n3", "n4")
    waits, runs, leaves = (
        wait_pending(harness, Work("ann", name, cpus=CPUS, only_nodes=(node,)))
        for name, node in (("waits", "n1"), ("runs", "n2"), ("leaves", "n3"))
    )
    for job, node in ((waits, "n1"), (runs, "n2"), (leaves, "n3")):
        assert _keep(harness, job, node).ok
    harness.cancel(full["n2"].id)
    started = find(wait_for(harness, JobState.RUNNING, runs.id), runs.id)
    harness.cancel(leaves.id)
    wait_for(harness, None, leaves.id)
    for job in (waits, runs, leaves):
        assert _let_go(harness, job).kind is OutcomeKind.DONE
        assert _let_go(harness, job).kind is OutcomeKind.ALREADY
    seen = harness.cluster.observe()
    assert seen.kept == ()
    assert find(seen, runs.id).run == started.run
    assert find(seen, waits.id).state is JobState.PENDING
    # What was let go is to be had at once.
    again = wait_pending(harness, Work("bob", "next", cpus=CPUS, only_nodes=("n2",)))
    assert _keep(harness, again, "n2").kind is OutcomeKind.DONE


def test_nodes_are_kept_for_one_job_only(harness: Harness) -> None:
    fill(harness, "n1", "n2", "n3", "n4")
    first = wait_pending(harness, Work("ann", "first", cpus=CPUS))
    second = wait_pending(harness, Work("bob", "second", cpus=CPUS))
    assert _keep(harness, first, "n1", "n2").ok
    assert _keep(harness, second, "n2", "n3").kind is OutcomeKind.UNKNOWN
    assert _kept(harness.cluster.observe()) == {first.id: ("n1", "n2")}
    assert _keep(harness, second, "n3").kind is OutcomeKind.DONE
    assert _kept(harness.cluster.observe()) == {first.id: ("n1", "n2"), second.id: ("n3",)}


def test_a_guest_gets_a_node_for_itself_and_gives_it_back(harness: Harness) -> None:
    full = fill(harness, "n1", "n2", "n3", "n4")
    large = wait_pending(harness, Work("ann", "large", nodes=2, cpus=CPUS))
    _keep(harness, large, "n1", "n2")
    guest = wait_pending(harness, FULL)
    harness.cancel(full["n1"].id)
    harness.wait_until(lambda seen: state_of(seen, full["n1"].id) is None, "n1 free")
    assert _keep(harness, large, "n2").ok
    assert _keep(harness, guest, "n1").ok
    seen = wait_for(harness, JobState.RUNNING, guest.id)
    assert set(find(seen, guest.id).alloc) == {"n1"}
    assert _let_go(harness, guest).ok
    assert _keep(harness, large, "n1", "n2").kind is OutcomeKind.DONE


def test_a_task_of_an_array_has_nodes_kept_too(harness: Harness) -> None:
    fill(harness, "n1", "n2", "n3", "n4")
    array = harness.submit(Work("ann", "tasks", cpus=CPUS, array_tasks=3))
    seen = wait_for(harness, JobState.PENDING, f"{array}_1")
    task = find(seen, f"{array}_1")
    assert _keep(harness, task, "n1").kind is OutcomeKind.DONE
    assert _kept(harness.cluster.observe()) == {f"{array}_1": ("n1",)}
    assert _let_go(harness, task).kind is OutcomeKind.DONE


def test_nothing_is_kept_for_whom_it_cannot_be(harness: Harness) -> None:
    running = start(harness, Work("ann", "runs"))
    assert _keep(harness, running, "n1").kind is OutcomeKind.ALREADY
    run = RunKey("99999", 0)
    gone = harness.cluster.apply([Action(ActionKind.KEEP, run, value=keep_value(4_000_000_000, ["n1"]))])[0]
    assert gone.kind is OutcomeKind.GONE
    fill(harness, "n2", "n3", "n4")
    job = wait_pending(harness, Work("bob", "waits", nodes=4, cpus=CPUS))
    assert not _keep(harness, job, "n99").ok
    for value in ("", "soon n1", "1 ", "4000000000 n1;n2"):
        odd = harness.cluster.apply([Action(ActionKind.KEEP, job.run, value=value)])[0]
        assert odd.kind is OutcomeKind.REFUSED, value
    assert harness.cluster.observe().kept == ()


def test_the_next_run_of_a_job_gets_the_nodes_that_are_kept_while_it_still_runs(harness: Harness) -> None:
    """As in an exchange: it runs on n1, and is put back to start on n2; nothing holds it if nobody comes any more."""
    runs = start(harness, Work("ann", "runs", cpus=CPUS, not_nodes=("n3", "n4")))
    (here,) = runs.alloc
    (there,) = {"n1", "n2"} - {here}
    until = harness.cluster.observe().taken_at + LONG_S
    ahead = Action(ActionKind.KEEP, runs.run, value=keep_value(until, [there], for_next=True))
    assert harness.cluster.apply([ahead])[0].kind is OutcomeKind.DONE
    assert harness.cluster.apply([ahead])[0].kind is OutcomeKind.DONE, "asked for again"
    (kept,) = harness.cluster.observe().kept
    assert (kept.job_id, kept.nodes, kept.inside) == (runs.id, (there,), False)
    stop = Action(ActionKind.REQUEUE_HOLD, runs.run, value=NOT_HELD)
    assert harness.cluster.apply([stop])[0].kind is OutcomeKind.DONE
    back = find(wait_for(harness, JobState.PENDING, runs.id), runs.id)
    assert (back.held, back.restarts) == (False, runs.restarts + 1)
    assert harness.cluster.apply([stop])[0].kind is OutcomeKind.ALREADY
    assert _keep(harness, back, there).kind is OutcomeKind.DONE
    assert harness.cluster.observe().kept[0].inside
    harness.wait_until(lambda seen: find(seen, runs.id).slurm_reason == "BeginTime", "it waits its turn")
    release = Action(ActionKind.RELEASE, back.run, value="4000000")
    assert harness.cluster.apply([release])[0].kind is OutcomeKind.DONE
    again = find(wait_for(harness, JobState.RUNNING, runs.id), runs.id)
    assert set(again.alloc) == {there}
    assert _let_go(harness, again).kind is OutcomeKind.DONE
    assert harness.cluster.observe().kept == ()
