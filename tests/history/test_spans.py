"""The steps of plots over time, on the days when the clocks are changed too."""

from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pytest
from django.utils import timezone

from console.history.timeline import DAY, SPANS


@pytest.mark.parametrize(
    ("zone", "midnight"),
    [
        ("Europe/Berlin", datetime(2026, 10, 24, 22, tzinfo=UTC)),
        ("Europe/Berlin", datetime(2026, 3, 28, 23, tzinfo=UTC)),
        ("America/New_York", datetime(2026, 11, 1, 4, tzinfo=UTC)),
        ("Asia/Kolkata", datetime(2026, 10, 24, 18, 30, tzinfo=UTC)),
    ],
)
@pytest.mark.parametrize("name", [*SPANS, "day"])
def test_steps_are_equal_and_the_last_one_is_under_way(zone: str, midnight: datetime, name: str) -> None:
    """In the night to winter time the last step began up to an hour from now, and minutes stood in others' columns."""
    span = SPANS.get(name, DAY)
    with timezone.override(zone):
        for quarter in range(100):
            now = midnight + timedelta(minutes=15 * quarter + 7)
            begins = span.begins(now)
            assert begins[-1] <= now < begins[-1] + span.step
            apart = {after.timestamp() - before.timestamp() for before, after in pairwise(begins)}
            assert apart == {span.step.total_seconds()}
            assert len(begins) == span.length // span.step
