"""What counts as taken of a node where a job's share is not told."""

from dataclasses import replace

import pytest

from scheduler.adapters.slurm import rows
from scheduler.adapters.slurm.untold import Untold, given_out, left_of, taken
from scheduler.model.jobs import JobState
from scheduler.model.nodes import SnapshotNode
from scheduler.model.resources import Amounts
from tests.adapters.slurm.test_rows import FREE, OWN
from tests.builders import observed

NODES = [SnapshotNode(name, up=True, total={"cpu": 8, "mem": 1000, "gpu": 4}) for name in ("n1", "n2", "n3")]
PLAIN = observed("1", JobState.RUNNING, alloc={"n2": {"cpu": 3, "mem": 100, "gpu": 1}})
GIVEN = {"n2": {"cpu": 5, "mem": 400, "gpu": 3}}


def held(*untold: Untold, given: dict[str, dict[str, int]]) -> dict[str, Amounts]:
    return {node.name: node.held_elsewhere for node in taken(NODES, [PLAIN], untold, given)}


def test_what_was_given_out_and_nobody_tells_is_taken() -> None:
    assert held(Untold(("n2",), {}), given=GIVEN) == {
        "n1": {},
        "n2": {"cpu": 2, "mem": 300, "gpu": 2},
        "n3": {},
    }


def test_a_job_that_holds_more_than_was_given_out_counts_with_that() -> None:
    """slurmctld 22.05 forgets CPUs of a job that grew."""
    assert held(Untold(("n2",), {"cpu": 4}), given=GIVEN)["n2"] == {"cpu": 4, "mem": 300, "gpu": 2}
    assert held(Untold(("n2",), {"cpu": 40}), given=GIVEN)["n2"]["cpu"] == 5


def test_all_that_is_left_is_taken_where_it_is_not_said_what_was_given_out() -> None:
    assert held(Untold(("n2",), {}), given={"n2": {"cpu": 5}})["n2"] == {"cpu": 2, "mem": 900, "gpu": 3}
    assert held(Untold(("n1",), {}), given={})["n1"] == {"cpu": 8, "mem": 1000, "gpu": 4}


def test_a_job_on_unknown_nodes_holds_what_nobody_else_does() -> None:
    everywhere = {name: {"cpu": 0, "mem": 0, "gpu": 0} for name in ("n1", "n3")} | GIVEN

    assert held(Untold(None, {"cpu": 8}), given=everywhere) == {
        "n1": {},
        "n2": {"cpu": 2, "mem": 300, "gpu": 2},
        "n3": {},
    }


def test_shares_that_were_told_more_than_given_out_leave_nothing_below_zero() -> None:
    assert held(Untold(("n2",), {}), given={"n2": {"cpu": 1, "mem": 1, "gpu": 0}})["n2"] == {}


def test_what_a_job_holds_beyond_what_is_told() -> None:
    row = replace(rows.decode(rows.FIELD.join([OWN, *FREE])), tres="cpu=5,mem=1G,node=2,gres/gpu=3")

    assert left_of(row, {"n1": {"cpu": 2, "mem": 24, "gpu": 1}}) == {"cpu": 3, "mem": 1000, "gpu": 2}
    assert left_of(replace(row, tres="cpu:5"), {}) == {}


@pytest.mark.parametrize(
    ("record", "given"),
    [
        ("NodeName=n1 CPUAlloc=3 AllocMem=70", {"cpu": 3, "mem": 70}),
        ("NodeName=n1 CPUAlloc=some AllocMem=70", {"mem": 70}),
        (
            "NodeName=n1 CPUAlloc=3 Gres=gpu:a100:8 GresUsed=gpu:a100:2(IDX:0-1) AllocMem=0",
            {"cpu": 3, "mem": 0, "gpu": 2, "gpu:a100": 2},
        ),
        ("NodeName=n1 Gres=gpu:8 GresUsed=gpu:0(IDX:N/A)", {"gpu": 0}),
        ("NodeName=n1 CPUAlloc=3 Gres=gpu:8 GresUsed=gpu:many:more:2", {"cpu": 3}),
        ("NodeName=n1 Comment=CPUAlloc=3", {}),
    ],
)
def test_what_slurmctld_says_it_has_given_out(record: str, given: dict[str, int]) -> None:
    assert given_out(record) == ("n1", given)
