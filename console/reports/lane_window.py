"""From when to when lanes are read, and how much of it at most."""

from datetime import datetime
from typing import NamedTuple, Self

from django.utils.translation import gettext as _

from console.core import clock

AROUND_S = 1800
"""So far back and so far ahead, unless told."""
LONGEST_S = 8 * 86_400
FARTHEST_S = 366 * 86_400
"""Nothing is kept from so long ago, and nothing is expected so far ahead."""
MOST_BARS = 20_000
MOST_MARKS = 5_000


class BadWindowError(ValueError):
    """A window that makes no sense. `key`: which end, `from` or `to`."""

    def __init__(self, key: str, words: str) -> None:
        super().__init__(words)
        self.key = key


class LaneWindow(NamedTuple):
    """Epoch seconds; `now` may lie outside."""

    start: int
    end: int
    now: int

    @classmethod
    def around(cls, now: int, start: int | None = None, end: int | None = None) -> Self:
        """From `start` to `end`, or half an hour on each side of now. Raises `BadWindowError`."""
        begins = start if start is not None else min(now, end if end is not None else now) - AROUND_S
        ends = end if end is not None else max(now, begins) + AROUND_S
        for key, moment in (("from", begins), ("to", ends)):
            if abs(moment - now) > FARTHEST_S:
                raise BadWindowError(key, _("Must be within a year of now."))
        if ends <= begins:
            raise BadWindowError("to", _("Must be later than `from`."))
        if ends - begins > LONGEST_S:
            raise BadWindowError("to", _("Must be at most 8 days later than `from`."))
        return cls(begins, ends, now)

    @property
    def moments(self) -> tuple[datetime, datetime]:
        """Both ends as the database has them."""
        return clock.from_epoch(self.start), clock.from_epoch(self.end)
