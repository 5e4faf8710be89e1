"""Lists in sentences are cut, and what is cut off is not worked out."""

import pytest

from scheduler.model import words


@pytest.mark.parametrize(
    ("count", "said"),
    [
        (0, "nobody"),
        (1, "0"),
        (2, "0 and 1"),
        (3, "0, 1 and 2"),
        (4, "0, 1 and 2 more"),
        (9, "0, 1 and 7 more"),
    ],
)
def test_a_long_list_is_cut_and_only_what_is_shown_is_put_into_words(count: int, said: str) -> None:
    asked: list[int] = []

    def say(item: int) -> str:
        asked.append(item)
        return str(item)

    assert words.told(range(count), say, limit=3) == said
    assert len(asked) <= 3
    assert words.names(map(str, range(count)), limit=3) == said


def test_amounts_are_said_in_their_own_order_whatever_order_they_come_in() -> None:
    assert words.amounts({"mem": 2048, "cpu": 4, "gpu": 1}) == "1 gpu, 4 cpu, 2 GB"
    assert words.amounts({"gpu": 1, "cpu": 4, "mem": 2048}) == "1 gpu, 4 cpu, 2 GB"
    assert words.amounts({"gpu": 2, "gpu:a100": 2}) == "2 × a100"
