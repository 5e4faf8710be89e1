"""Which open keywords let anybody stop somebody else's job."""

from dataclasses import replace

import pytest

from scheduler.model.policy import Enforcement, LevelRule, Mode, PartitionPolicy
from scheduler.priority.keywords import open_keywords

OPEN, CLOSED, NAMED = (LevelRule(name, None, name.lower(), users) for name, users in (
    ("P0", None), ("P1", ()), ("P2", ("ann",)),
))  # fmt: skip
LEVELS = (OPEN, CLOSED, NAMED, LevelRule("P3", 1), LevelRule("P4", None, "p4"))


ENFORCING = PartitionPolicy("x", Mode.TASK, Enforcement.ENFORCE, LEVELS)


def names(mode: Mode = Mode.TASK, bands: tuple[tuple[int | None, ...], ...] | None = None) -> list[str]:
    return [rule.name for rule in open_keywords(replace(ENFORCING, mode=mode, bands=bands))]


def test_a_keyword_is_open_that_names_nobody_and_is_not_closed() -> None:
    assert names() == ["P0", "P4"]


@pytest.mark.parametrize("mode", [Mode.USER_THEN_TASK, Mode.TASK, Mode.TASK_THEN_USER])
def test_it_counts_wherever_task_levels_do(mode: Mode) -> None:
    assert names(mode) == ["P0", "P4"]
    assert names(Mode.USER) == []


def test_a_level_in_the_band_of_the_unconfigured_stops_nobody() -> None:
    assert names(bands=((0, 1), (2, 3), (4, None))) == ["P0"]
    assert names(bands=((0, 1, 2, 3, 4, None),)) == []
    assert names(bands=((0, 1), (2, 3, 4))) == ["P0", "P4"]


@pytest.mark.parametrize("enforcement", [Enforcement.SHADOW, Enforcement.APPROVE])
def test_where_nobody_is_stopped_without_a_person_none_is_told(enforcement: Enforcement) -> None:
    assert open_keywords(replace(ENFORCING, enforcement=enforcement)) == []
