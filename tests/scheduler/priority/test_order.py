"""The order in which pending jobs are decided, and the order of ids."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scheduler.model.jobs import SnapshotJob
from scheduler.model.policy import Mode
from scheduler.priority.order import natural, pending_order
from tests.builders import pending


def ordered(mode: Mode, *jobs: SnapshotJob) -> list[str]:
    shuffled = random.Random(7).sample(jobs, len(jobs))
    return [job.id for job in sorted(shuffled, key=lambda job: pending_order(mode, job))]


@pytest.mark.parametrize(
    ("mode", "expected"),
    [
        (Mode.USER, ["both", "user", "task", "none"]),
        (Mode.USER_THEN_TASK, ["both", "user", "task", "none"]),
        (Mode.TASK, ["both", "task", "user", "none"]),
        (Mode.TASK_THEN_USER, ["both", "task", "user", "none"]),
    ],
)
def test_the_modes_first_priority_decides_first(mode: Mode, expected: list[str]) -> None:
    jobs = [
        pending("none", waited=100),
        pending("task", task=0, waited=300),
        pending("user", user=0, waited=200),
        pending("both", user=0, task=0, waited=500),
    ]
    assert ordered(mode, *jobs) == expected


def test_the_second_priority_breaks_ties_only_where_the_mode_has_one() -> None:
    early_low, late_high = pending("1", user=0, task=3, waited=100), pending("2", user=0, task=0, waited=1)
    assert ordered(Mode.USER_THEN_TASK, early_low, late_high) == ["2", "1"]
    assert ordered(Mode.USER, early_low, late_high) == ["1", "2"]
    early_low, late_high = pending("1", user=3, task=0, waited=100), pending("2", user=0, task=0, waited=1)
    assert ordered(Mode.TASK_THEN_USER, early_low, late_high) == ["2", "1"]
    assert ordered(Mode.TASK, early_low, late_high) == ["1", "2"]


def test_among_equals_the_earlier_submitted_comes_first_then_the_smaller_id() -> None:
    assert ordered(Mode.USER, pending("2", waited=10), pending("1", waited=5)) == ["2", "1"]
    assert ordered(Mode.USER, pending("10"), pending("9"), pending("9_10"), pending("9_9")) == [
        "9", "9_9", "9_10", "10",
    ]  # fmt: skip


def test_nothing_configured_comes_after_every_level() -> None:
    assert ordered(Mode.USER, pending("none", waited=999), pending("low", user=999, waited=1)) == [
        "low",
        "none",
    ]


@pytest.mark.parametrize(
    "names",
    [
        ["n1", "n2", "n10", "n100"],
        ["4711_2", "4711_10", "4712"],
        ["7", "08", "9", "10"],
        ["n01", "n1"],
        ["gpu-a1", "gpu-a2", "gpu-b1"],
        ["", "0", "1", "a"],
        ["r2c1n1", "r2c10n1", "r10c1n1"],
    ],
)
def test_numbers_inside_names_count_as_numbers(names: list[str]) -> None:
    assert sorted({*names}, key=natural) == names


def test_a_number_of_ten_thousand_digits_sorts_like_any_other() -> None:
    huge = "9" * 10_000
    assert sorted([huge, "1" + "0" * 10_000, "5"], key=natural) == ["5", huge, "1" + "0" * 10_000]


@given(st.lists(st.integers(0, 10**9), min_size=2, unique=True))
def test_ids_that_are_numbers_sort_as_numbers(numbers: list[int]) -> None:
    assert sorted(map(str, numbers), key=natural) == [str(number) for number in sorted(numbers)]


@given(st.text(), st.text())
def test_only_equal_texts_have_equal_keys(one: str, other: str) -> None:
    assert (natural(one) == natural(other)) == (one == other)


@given(st.text("01239٣a_", max_size=6))
def test_a_text_that_is_a_number_has_the_key_that_it_has_inside_another(text: str) -> None:
    assert natural(f"x{text}")[0] == "x" + natural(text)[0]


def test_tasks_that_are_decided_together_stand_where_the_first_of_them_does() -> None:
    """Else a task that its array does not let start yet would stand before those that only lack room."""
    ids = ["7_1", "7_[2-4]", "7_5", "7_10", "7_[12,14]", "7_13", "8"]
    assert sorted(set(ids), key=natural) == ids
