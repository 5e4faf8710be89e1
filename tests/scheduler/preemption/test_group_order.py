"""Of the running tasks of a group those go that lose least, and that changes nothing for anybody else."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scheduler.contracts.errors import InputError
from scheduler.contracts.snapshot import decode_snapshot, encode_snapshot
from scheduler.model.jobs import SnapshotJob
from scheduler.model.policy import GiveBack, VictimOrder
from scheduler.model.snapshot import Snapshot
from scheduler.preemption.planner import plan
from tests.builders import NOW, node, on_nodes, one_node, pending, running, snapshot
from tests.scheduler.preemption.test_groups import tasks


def run(name: str, ran: int, saved: int | None = None, group: str = "1", **fields: Any) -> SnapshotJob:
    """A running task of two CPUs; `saved`: so many seconds ago."""
    known: dict[str, Any] = {"user": 3, "of": "ann", "submit": NOW - 9000, "group": group, **fields}
    return replace(running(name, "n1", 2, ran=ran, **known), saved_at=None if saved is None else NOW - saved)


def stopped(made: Snapshot) -> set[str]:
    return {victim.job for decision in plan(made).decisions for victim in decision.victims}


ASKED: dict[str, list[SnapshotJob]] = {
    "one job": [pending("9", one_node(4), of="cy", user=0)],
    "two tasks": tasks("9", 2, 2),
}


@pytest.mark.parametrize("order", VictimOrder)
@pytest.mark.parametrize("asked", ASKED)
def test_those_go_that_have_saved_their_state_last(asked: str, order: VictimOrder) -> None:
    held = [run("1_0", 4000, saved=50), run("1_1", 3000), run("1_2", 2000, saved=900), run("1_3", 1000)]
    assert stopped(snapshot([*held, *ASKED[asked]], victim_order=order)) == {"1_0", "1_2"}


@pytest.mark.parametrize("asked", ASKED)
def test_of_equals_the_youngest_go(asked: str) -> None:
    held = [
        run("1_0", 4000, saved=50),
        run("1_1", 3000, saved=50),
        run("1_2", 2000, saved=50),
        run("1_3", 1000),
    ]
    assert stopped(snapshot([*held, *ASKED[asked]])) == {"1_1", "1_2"}


@pytest.mark.parametrize("asked", ASKED)
def test_also_of_tasks_that_have_started_together(asked: str) -> None:
    held = [run("1_0", 3000), run("1_1", 3000, saved=40), run("1_2", 3000), run("1_3", 3000, saved=50)]
    assert stopped(snapshot([*held, *ASKED[asked]])) == {"1_1", "1_3"}


def test_of_jobs_of_a_group_submitted_one_by_one_too() -> None:
    held = [run(f"{n}", 1000 * n, group="t@ann/", submit=NOW - 9000 + 100 * n) for n in range(1, 5)]
    assert stopped(snapshot([*held, *ASKED["two tasks"]])) == {"1", "2"}


def test_a_checkpoint_of_before_the_run_does_not_count() -> None:
    held = [run("1_0", 4000, saved=5000), run("1_1", 3000), run("1_2", 2000), run("1_3", 1000)]
    assert stopped(snapshot([*held, *ASKED["one job"]])) == {"1_2", "1_3"}


def test_nobody_is_stopped_for_saving_often_instead_of_another_user() -> None:
    held = [run("1_0", 4000, saved=5), run("1_1", 3000, saved=5)]
    others = [run("2", 1000, group="", of="bob"), run("3", 900, group="", of="bob")]
    assert stopped(snapshot([*held, *others, *ASKED["one job"]])) == {"2", "3"}


def test_the_words_tell_how_long_it_has_run_itself() -> None:
    held = [run("1_0", 4000, saved=50), run("1_1", 3000), run("1_2", 2000), run("1_3", 1000)]
    (decision,) = plan(snapshot([*held, pending("9", one_node(2), of="cy", user=0)])).decisions
    assert [victim.job for victim in decision.victims] == ["1_0"]
    assert "ran 1 h 6 min" in decision.explain


times = st.lists(st.tuples(st.integers(1, 5000), st.none() | st.integers(0, 5000)), min_size=4, max_size=4)


@settings(max_examples=100, deadline=None)
@given(times, st.integers(1, 4), st.booleans())
def test_as_many_go_as_without_checkpoints_and_never_one_that_loses_more(
    ran: list[tuple[int, int | None]], units: int, together: bool
) -> None:
    held = [run(f"1_{n}", seconds, saved) for n, (seconds, saved) in enumerate(ran)]
    asked = tasks("9", units, 2) if together else [pending("9", one_node(2 * units), of="cy", user=0)]
    gone = stopped(snapshot([*held, *asked]))
    assert len(gone) == len(stopped(snapshot([*(replace(job, saved_at=None) for job in held), *asked])))
    lost = {
        f"1_{n}": seconds if saved is None else min(seconds, saved) for n, (seconds, saved) in enumerate(ran)
    }
    assert max(lost[job] for job in gone) <= min((lost[job] for job in lost if job not in gone), default=9999)


# --- An array is spared as a whole, where the partition says so ------------------------------------------------


def arrays() -> list[SnapshotJob]:
    """B (two tasks, P2) and C (two tasks, P3) of two CPUs each fill the node."""
    low = [run(f"3_{n}", 1000 + n, group="3") for n in range(2)]
    return [*(run(f"2_{n}", 1000 + n, group="2", user=2, of="bob") for n in range(2)), *low]


def test_units_are_given_back_one_by_one() -> None:
    assert stopped(snapshot([*arrays(), *tasks("9", 3, 2)])) == {"3_0", "3_1", "2_0"}


def test_an_array_that_can_keep_all_does() -> None:
    """B and C of three and one tasks: three are needed. B's alone are enough, so C keeps its own."""
    held = [run(f"2_{n}", 1000 + n, group="2", user=2, of="bob") for n in range(3)] + [
        run("3_0", 1000, group="3")
    ]
    asked = tasks("9", 3, 2)
    assert stopped(snapshot([*held, *asked])) == {"3_0", "2_0", "2_1"}
    whole = stopped(snapshot([*held, *asked], give_back=GiveBack.WHOLE))
    assert whole == {"2_0", "2_1", "2_2"}


def test_who_loses_some_loses_no_more_than_is_needed() -> None:
    assert stopped(snapshot([*arrays(), *tasks("9", 3, 2)], give_back=GiveBack.WHOLE)) == {
        "3_0",
        "3_1",
        "2_0",
    }


# --- The contract ----------------------------------------------------------------------------------------------


def test_it_is_written_and_read() -> None:
    made = snapshot([run("1_0", 100, saved=7)])
    assert encode_snapshot(made)["jobs"][0]["saved_at"] == NOW - 7
    assert decode_snapshot(encode_snapshot(made)) == made


def test_a_job_that_waits_has_saved_nothing() -> None:
    document = encode_snapshot(snapshot([pending("1", on_nodes(1))], [node()]))
    document["jobs"][0]["saved_at"] = 5
    with pytest.raises(InputError, match="saved_at"):
        decode_snapshot(document)
