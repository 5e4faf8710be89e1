"""What the sentences at the top of the insights say of extreme figures."""

import pytest

from console.insights.answers import LevelWaits
from console.insights.wording import wait_words


def row(median_s: float, p90_s: float, before_s: float | None = None) -> LevelWaits:
    return LevelWaits("x", 0, "P0", 100, median_s, p90_s, 0, before_s, before_s)


@pytest.mark.parametrize(
    ("waited", "sentence"),
    [
        (row(0, 0), "Nine in ten jobs of P0 on x started at once."),
        (row(0, 0, 120), "Half the jobs of P0 on x waited up to 0 s (before: 2 min), nine in ten up to 0 s."),
        (row(0, 5), "Half the jobs of P0 on x started at once, nine in ten within 5 s."),
    ],
)
def test_who_did_not_wait_did_not_wait_up_to_no_seconds(waited: LevelWaits, sentence: str) -> None:
    assert wait_words(waited) == sentence
