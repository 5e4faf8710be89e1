"""Work in the background: how soon it is done again, and how much of it at a time."""

from collections.abc import Iterator

import pytest

from console.core.duty_cycle import DutyCycle, take_portions


@pytest.fixture
def clocks(monkeypatch: pytest.MonkeyPatch) -> dict[str, float]:
    found = {"now": 100.0, "spent": 0.0}
    monkeypatch.setattr("console.core.duty_cycle.time.monotonic", lambda: found["now"])
    monkeypatch.setattr("console.core.duty_cycle.time.thread_time", lambda: found["spent"])
    return found


def test_it_rests_in_proportion_to_what_it_took_of_a_processor(clocks: dict[str, float]) -> None:
    known = DutyCycle(rest=50, most_s=120)
    assert known.has_rested()
    known.begin()
    for _ in range(2):
        with known.spending():
            clocks["spent"] += 1
        clocks["now"] += 30
        clocks["spent"] += 7  # of others
    assert not known.has_rested() and known.has_rested(rest=30)
    clocks["now"] += 39
    assert not known.has_rested()
    clocks["now"] += 1
    assert known.has_rested()


def test_it_never_rests_longer_than_it_may(clocks: dict[str, float]) -> None:
    known = DutyCycle(rest=50, most_s=120)
    known.begin()

    def fail() -> None:
        with known.spending():
            clocks["spent"] += 10
            raise ValueError("it failed")

    with pytest.raises(ValueError, match="it failed"):
        fail()
    clocks["now"] += 119
    assert not known.has_rested()
    clocks["now"] += 1
    assert known.has_rested()


def test_portions_are_begun_while_there_is_time_and_one_always(clocks: dict[str, float]) -> None:
    def portions() -> Iterator[int]:
        for number in range(9):
            clocks["spent"] += 1
            yield number

    assert list(take_portions(2.5, portions())) == [0, 1, 2]
    assert list(take_portions(0.0, portions())) == [0]
    assert list(take_portions(99.0, portions())) == list(range(9))
