"""The document's formula (¶68, ¶182, ¶196)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scheduler.priority.score import task_score, user_score

factors = st.floats(0.001, 1e6)


def test_a_users_score_is_size_over_grade_times_urgency() -> None:
    assert user_score(40, 1, 3) == 120
    assert user_score(40, 2, 3) == 60
    assert user_score(1, 4, 0.5) == 0.125


def test_a_tasks_score_has_its_importance_as_a_factor() -> None:
    assert task_score(40, 1, 3, 2) == 240
    assert task_score(40, 1, 3, 0.5) == 60


def test_importance_is_one_unless_told() -> None:
    assert task_score(40, 1, 3) == user_score(40, 1, 3)


@given(factors, factors, factors, factors, st.floats(1, 1000))
def test_more_size_urgency_importance_or_a_better_grade_never_lowers_a_score(
    size: float, grade: float, urgency: float, importance: float, more: float
) -> None:
    before = task_score(size, grade, urgency, importance)
    assert task_score(size * more, grade, urgency, importance) >= before
    assert task_score(size, grade / more, urgency, importance) >= before
    assert task_score(size, grade, urgency * more, importance) >= before
    assert task_score(size, grade, urgency, importance * more) >= before
    assert user_score(size * more, grade / more, urgency * more) >= user_score(size, grade, urgency)


@pytest.mark.parametrize("name", ["size", "grade", "urgency"])
@pytest.mark.parametrize("value", [0, -1, float("nan")])
def test_a_factor_that_is_not_above_zero_is_refused_by_name(name: str, value: float) -> None:
    factors = {"size": 1.0, "grade": 1.0, "urgency": 1.0, name: value}
    with pytest.raises(ValueError, match=f"{name} must be above 0"):
        user_score(**factors)


def test_an_importance_of_zero_is_refused() -> None:
    with pytest.raises(ValueError, match="importance must be above 0"):
        task_score(1, 1, 1, 0)
