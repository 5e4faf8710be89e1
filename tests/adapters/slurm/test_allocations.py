"""The exact share of a running job: when squeue's own words suffice, and when scontrol has to be asked."""

from dataclasses import replace

import pytest

from scheduler.adapters.slurm import jobs, rows
from scheduler.adapters.slurm.config import Config
from scheduler.adapters.slurm.rows import QueueRow
from scheduler.adapters.slurm.shapes import ClusterShape
from scheduler.model.jobs import JobState, ObservedJob
from tests.adapters.slurm.test_rows import FREE, OWN

ROOM = ClusterShape(
    Config("c"),
    totals={
        "plain": {"cpu": 8, "mem": 16_000},
        "one": {"cpu": 8, "mem": 16_000, "gpu": 8, "gpu:a100": 8},
        "two": {"cpu": 8, "mem": 16_000, "gpu": 8, "gpu:a100": 6, "gpu:v100": 2},
        "untyped": {"cpu": 8, "mem": 16_000, "gpu": 8},
    },
    of_partition={"x": ("plain", "one", "two", "untyped")},
)


def row(node: str, tres: str, per_node: str = "", *, alone: bool = False) -> QueueRow:
    decoded = rows.decode(rows.FIELD.join([OWN, *FREE]))
    return replace(decoded, node_list=node, tres=tres, per_node=per_node, alone=alone)


@pytest.mark.parametrize(
    ("node", "tres", "asked", "share"),
    [
        ("plain", "cpu=4,mem=200M,node=1", "", {"cpu": 4, "mem": 200}),
        ("two", "cpu=4,mem=1.50G,node=1", "", {"cpu": 4, "mem": 1536}),
        # Sites that count gres/gpu: exact wherever the node has one type, or none.
        ("one", "cpu=1,mem=1M,gres/gpu=2", "gres:gpu:2", {"cpu": 1, "mem": 1, "gpu": 2, "gpu:a100": 2}),
        ("untyped", "cpu=1,mem=1M,gres/gpu=2", "gres:gpu:2", {"cpu": 1, "mem": 1, "gpu": 2}),
        # Sites that count every type.
        (
            "two",
            "cpu=1,mem=1M,gres/gpu=3,gres/gpu:a100=2,gres/gpu:v100=1",
            "gres:gpu:3",
            {"cpu": 1, "mem": 1, "gpu": 3, "gpu:a100": 2, "gpu:v100": 1},
        ),
    ],
)
def test_squeue_suffices(node: str, tres: str, asked: str, share: dict[str, int]) -> None:
    assert jobs.plain_alloc(row(node, tres, asked), ROOM) == {node: share}


@pytest.mark.parametrize(
    ("node", "tres", "asked", "alone"),
    [
        ("plain,one", "cpu=4,mem=200M,node=2", "", False),
        ("unheard", "cpu=4,mem=200M,node=1", "", False),
        # GPUs were asked for, but the site does not count them.
        ("one", "cpu=1,mem=1M,node=1", "gres:gpu:2", False),
        # Two types, and the sum only.
        ("two", "cpu=1,mem=1M,gres/gpu=3", "gres:gpu:3", False),
        # One of two kinds is counted.
        ("one", "cpu=1,mem=1M,gres/gpu=3", "gres:gpu:3,gres:shard:1", False),
        # A whole node: its GPUs come with it unasked.
        ("one", "cpu=8,mem=1M,node=1", "", True),
        # Rounded.
        ("plain", "cpu=1,mem=1.46G,node=1", "", False),
        ("plain", "mem=1M", "", False),
    ],
)
def test_scontrol_has_to_be_asked(node: str, tres: str, asked: str, *, alone: bool) -> None:
    assert jobs.plain_alloc(row(node, tres, asked, alone=alone), ROOM) is None


def test_a_whole_node_without_gpus_is_told_by_squeue() -> None:
    assert jobs.plain_alloc(row("plain", "cpu=8,mem=1M,node=1", alone=True), ROOM) == {
        "plain": {"cpu": 8, "mem": 1}
    }


def test_the_state_words_are_known() -> None:
    known = {
        word: jobs.state_of(replace(row("plain", "cpu=1"), state=word))
        for word in (
            "PENDING",
            "SPECIAL_EXIT",
            "CONFIGURING",
            "SUSPENDED",
            "COMPLETING",
            "COMPLETED",
            "TIMEOUT",
        )
    }

    assert [state and state.value for state in known.values()] == [
        "pending", "pending", "running", "running", "completing", None, None,
    ]  # fmt: skip


def before(seen: QueueRow) -> ObservedJob:
    """The job as it was seen when it held two GPUs."""
    return jobs.running(seen, JobState.RUNNING, {"one": {"cpu": 4, "mem": 200, "gpu": 2, "gpu:a100": 2}})


def test_a_share_is_remembered_during_one_run_only() -> None:
    seen = replace(row("one", "cpu=4,mem=200M"), cpus=4)
    known = before(seen)
    assert seen.start is not None

    assert jobs.remembered_alloc(replace(seen, comment="new"), known) == known.alloc
    # After a requeue the job may have got something else on the same node.
    assert jobs.remembered_alloc(replace(seen, start=seen.start + 60, restarts=3), known) is None
    assert jobs.remembered_alloc(replace(seen, restarts=3), known) is None
    assert jobs.remembered_alloc(replace(seen, cpus=3), known) is None
    assert jobs.remembered_alloc(replace(seen, node_list="two"), known) is None
    assert jobs.remembered_alloc(seen, None) is None


def test_a_completing_job_keeps_the_share_of_the_nodes_it_still_has() -> None:
    seen = replace(row("one", "cpu=4,mem=200M"), cpus=4)
    share = {"cpu": 4, "mem": 200}
    known = jobs.running(seen, JobState.RUNNING, {"one": share, "two": share})

    # A requeue counts the restart and changes the start time at once.
    ending = replace(seen, state="COMPLETING", start=None, restarts=3, node_list="two", cpus=1)
    assert jobs.remembered_alloc(ending, known) == {"two": share}


def test_a_suspended_job_that_goes_on_has_its_cpus_again() -> None:
    seen = replace(row("plain", "cpu=4,mem=200M"), cpus=4, state="SUSPENDED", priority=0)
    suspended = jobs.running(seen, JobState.RUNNING, {"plain": {"cpu": 4, "mem": 200}})
    assert suspended.alloc == {"plain": {"mem": 200}}

    resumed = replace(seen, state="RUNNING")
    assert jobs.remembered_alloc(resumed, suspended) is None
    assert jobs.plain_alloc(resumed, ROOM) == {"plain": {"cpu": 4, "mem": 200}}


def test_a_job_that_slurm_has_suspended_for_another_is_owed_its_cpus() -> None:
    """PreemptMode=SUSPEND,GANG: when the other one ends it goes on at once, whoever waits for these CPUs (tried on the
    three releases: a person's suspension sets the priority to 0, and this one leaves it)."""
    seen = replace(row("plain", "cpu=4,mem=200M"), cpus=4, state="SUSPENDED", priority=1)
    suspended = jobs.running(seen, JobState.RUNNING, {"plain": {"cpu": 4, "mem": 200}})

    assert suspended.alloc == {"plain": {"cpu": 4, "mem": 200}}
