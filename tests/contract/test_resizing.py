"""Contract: a job with fewer nodes, or others: after a requeue, and while it runs."""

import pytest

from scheduler.model.actions import ActionKind, OutcomeKind
from scheduler.model.jobs import JobState, ObservedJob
from scheduler.model.observation import Resizing
from scheduler.model.sentence import Sentence
from tests.contract.harness import (
    CPUS,
    HIGHEST,
    Harness,
    Work,
    apply_to,
    fill,
    find,
    start,
    start_interactive,
    state_of,
    wait_for,
    wait_pending,
)

WIDE = Work("ann", "wide", nodes=3, cpus=CPUS)
SMALL = Work("ann", "wide", nodes=3, cpus=2)


def _put_back(harness: Harness, job: ObservedJob) -> ObservedJob:
    assert apply_to(harness, ActionKind.REQUEUE_HOLD, job)[0].ok
    return find(wait_for(harness, JobState.PENDING, job.id), job.id)


def _with_nodes(harness: Harness, job: ObservedJob, count: int) -> ObservedJob:
    """Put back, given another number of nodes, first in line, let go: as it runs again."""
    held = _put_back(harness, job)
    assert apply_to(harness, ActionKind.RESIZE, held, value=str(count))[0].kind is OutcomeKind.DONE
    resized = find(harness.cluster.observe(), job.id)
    assert resized.held and resized.request is not None and resized.request.nodes == count
    assert apply_to(harness, ActionKind.RELEASE, resized, value=HIGHEST)[0].ok
    return find(wait_for(harness, JobState.RUNNING, job.id), job.id)


def _amounts(job: ObservedJob) -> set[tuple[tuple[str, int], ...]]:
    return {tuple(sorted(share.items())) for share in job.alloc.values()}


def test_a_job_that_was_put_back_runs_on_fewer_nodes_and_on_more_again(harness: Harness) -> None:
    job = start(harness, WIDE)
    blocker = fill(harness, *({"n1", "n2", "n3", "n4"} - job.alloc.keys()))
    urgent = wait_pending(harness, Work("bob", "urgent", cpus=CPUS))

    fewer = _with_nodes(harness, job, 2)
    assert len(fewer.alloc) == 2 and _amounts(fewer) == _amounts(job)
    assert (fewer.restarts, fewer.comment) == (1, job.comment)
    wait_for(harness, JobState.RUNNING, urgent.id)

    harness.cancel(urgent.id)
    wait_for(harness, None, urgent.id)
    more = _with_nodes(harness, fewer, 3)
    assert len(more.alloc) == 3 and _amounts(more) == _amounts(job)
    assert all(state_of(harness.cluster.observe(), other.id) for other in blocker.values())


@pytest.mark.parametrize("work", [
    Work("ann", "gpus", ("q",), nodes=2, cpus=2, gpus={"gpu": 2}),
    Work("ann", "typed", nodes=2, cpus=1, gpus={"gpu:a100": 1}),
], ids=lambda work: work.name)  # fmt: skip
def test_gpus_of_each_node_stay_as_they_are_after_a_restart(harness: Harness, work: Work) -> None:
    job = start(harness, work)

    fewer = _with_nodes(harness, job, work.nodes - 1)

    assert len(fewer.alloc) == work.nodes - 1 and _amounts(fewer) == _amounts(job)


def test_the_same_number_again_is_already_so(harness: Harness) -> None:
    held = _put_back(harness, start(harness, SMALL))
    assert apply_to(harness, ActionKind.RESIZE, held, value="2")[0].kind is OutcomeKind.DONE

    assert apply_to(harness, ActionKind.RESIZE, held, value="2")[0].kind is OutcomeKind.ALREADY
    assert apply_to(harness, ActionKind.RESIZE, held, value="3")[0].kind is OutcomeKind.DONE


def test_only_a_job_that_was_put_back_and_is_held_gets_another_number(harness: Harness) -> None:
    running = start(harness, SMALL)
    new = find(
        wait_for(harness, JobState.PENDING, job_id := harness.submit(Work(held=True, nodes=2))), job_id
    )
    held = _put_back(harness, running)
    fill(harness, "n1", "n2")
    for words in ("0", "-1", "2-3", "two", "٢"):
        assert apply_to(harness, ActionKind.RESIZE, held, value=words)[0].kind is OutcomeKind.REFUSED, words

    [of_run, never_ran] = apply_to(harness, ActionKind.RESIZE, running, new, value="1")
    assert never_ran.kind is OutcomeKind.REFUSED and isinstance(never_ran.detail, Sentence)
    assert of_run.kind is OutcomeKind.GONE

    assert apply_to(harness, ActionKind.RELEASE, held)[0].ok
    harness.pass_time(1)
    [let_go] = apply_to(harness, ActionKind.RESIZE, held, value="1")
    assert let_go.kind in {OutcomeKind.GONE, OutcomeKind.REFUSED}


def test_a_number_for_a_waiting_job_never_shrinks_it_while_it_runs(harness: Harness) -> None:
    held = _put_back(harness, start(harness, SMALL))
    assert apply_to(harness, ActionKind.RELEASE, held)[0].ok
    again = find(wait_for(harness, JobState.RUNNING, held.id), held.id)

    assert apply_to(harness, ActionKind.RESIZE, held, again, value="1")[0].kind is OutcomeKind.GONE
    assert find(harness.cluster.observe(), held.id).alloc == again.alloc


def test_a_job_that_names_no_nodes_is_refused(harness: Harness) -> None:
    held = _put_back(harness, start(harness, Work("ann", "tasks", tasks=13)))

    [outcome] = apply_to(harness, ActionKind.RESIZE, held, value="3")

    assert outcome.kind is OutcomeKind.REFUSED and isinstance(outcome.detail, Sentence)
    assert outcome.detail.code == "resize.no_nodes"


# --- In place ---


def _keeps(job: ObservedJob, count: int) -> str:
    return ",".join(sorted(job.alloc)[:count])


def test_a_running_job_goes_on_with_the_nodes_that_it_keeps(harness: Harness) -> None:
    assert harness.cluster.describe().resizing & {Resizing.IN_PLACE, Resizing.IN_PLACE_ONCE}
    job = start(harness, WIDE)
    fill(harness, *({"n1", "n2", "n3", "n4"} - job.alloc.keys()))
    urgent = wait_pending(harness, Work("bob", "urgent", cpus=CPUS))
    first, middle, last = sorted(job.alloc)

    [outcome] = apply_to(harness, ActionKind.SHRINK, job, value=f"{last},{first}")

    assert outcome.kind is OutcomeKind.DONE, outcome
    seen = wait_for(harness, JobState.RUNNING, urgent.id)
    now = find(seen, job.id)
    assert now.run == job.run
    assert now.alloc == {name: job.alloc[name] for name in (first, last)}
    assert find(seen, urgent.id).alloc.keys() == {middle}
    assert apply_to(harness, ActionKind.SHRINK, job, value=f"{first},{last}")[0].kind is OutcomeKind.ALREADY


def test_it_is_shrunk_as_often_as_the_cluster_tells(harness: Harness) -> None:
    job = start(harness, SMALL)
    assert apply_to(harness, ActionKind.SHRINK, job, value=_keeps(job, 2))[0].kind is OutcomeKind.DONE
    smaller = find(harness.cluster.observe(), job.id)

    [again] = apply_to(harness, ActionKind.SHRINK, smaller, value=_keeps(job, 1))

    if Resizing.IN_PLACE_ONCE in harness.cluster.describe().resizing:
        assert again.kind is OutcomeKind.REFUSED and isinstance(again.detail, Sentence)
        assert again.detail.code == "resize.once"
    else:
        assert again.kind is OutcomeKind.DONE
    left = 2 if again.kind is OutcomeKind.REFUSED else 1
    assert len(find(harness.cluster.observe(), job.id).alloc) == left


def test_a_job_that_holds_gpus_is_not_shrunk_while_it_runs(harness: Harness) -> None:
    """On 24.11 and 26.05 slurmctld can die of it."""
    job = start(harness, Work("ann", "gpus", nodes=2, cpus=1, gpus={"gpu": 1}))
    whole = start(harness, Work("bob", "whole", ("q",), nodes=2, exclusive=True))

    outcomes = apply_to(harness, ActionKind.SHRINK, job, value=_keeps(job, 1))
    outcomes += apply_to(harness, ActionKind.SHRINK, whole, value=_keeps(whole, 1))

    assert [(each.kind, each.detail.code) for each in outcomes if isinstance(each.detail, Sentence)] == [
        (OutcomeKind.REFUSED, "resize.gres")
    ] * 2
    seen = harness.cluster.observe()
    assert [find(seen, each.id).alloc for each in (job, whole)] == [job.alloc, whole.alloc]


def test_nodes_that_it_cannot_keep_are_refused(harness: Harness) -> None:
    job = start(harness, SMALL)
    first, *others = sorted(job.alloc)
    [foreign] = {"n1", "n2", "n3", "n4"} - job.alloc.keys()

    for value in (
        ",".join(others),
        f"{first},{foreign}",
        ",".join([*job.alloc, foreign]),
        foreign,
        "n[1-2]",
        "",
    ):
        [outcome] = apply_to(harness, ActionKind.SHRINK, job, value=value)
        assert outcome.kind is OutcomeKind.REFUSED, value
    assert find(harness.cluster.observe(), job.id).alloc == job.alloc


def test_an_interactive_job_keeps_its_nodes(harness: Harness) -> None:
    job = start_interactive(harness, Work("ann", "shell", nodes=2))

    [outcome] = apply_to(harness, ActionKind.SHRINK, job, value=_keeps(job, 1))

    assert outcome.kind is OutcomeKind.REFUSED
    assert find(harness.cluster.observe(), job.id).alloc == job.alloc


def test_a_late_shrink_never_hits_the_next_run_nor_a_waiting_job(harness: Harness) -> None:
    first = start(harness, SMALL)
    held = _put_back(harness, first)
    assert apply_to(harness, ActionKind.SHRINK, first, value=_keeps(first, 2))[0].kind is OutcomeKind.GONE

    assert apply_to(harness, ActionKind.RELEASE, held)[0].ok
    second = find(wait_for(harness, JobState.RUNNING, first.id), first.id)
    assert apply_to(harness, ActionKind.SHRINK, first, value=_keeps(second, 2))[0].kind is OutcomeKind.GONE
    assert find(harness.cluster.observe(), first.id).alloc == second.alloc


def test_a_job_that_was_shrunk_and_stopped_comes_back_with_all_its_nodes(harness: Harness) -> None:
    job = start(harness, SMALL)
    assert apply_to(harness, ActionKind.SHRINK, job, value=_keeps(job, 2))[0].ok

    held = _put_back(harness, find(harness.cluster.observe(), job.id))
    assert held.request is not None and held.request.nodes == 3
    assert apply_to(harness, ActionKind.RELEASE, held)[0].ok
    assert len(find(wait_for(harness, JobState.RUNNING, job.id), job.id).alloc) == 3
