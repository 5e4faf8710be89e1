"""The time that is asked about, in whole days, and as long a time before it."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, timedelta

from django.utils.formats import date_format
from django.utils.translation import gettext as _
from django.utils.translation import pgettext

from console.core import clock
from console.core.l10n_format import in_a_row

DAYS = (7, 30, 90)
USUAL = 30
_MONTH = re.compile(r"(20\d\d)-(0[1-9]|1[0-2])")
ONE = timedelta(days=1)


class NoSuchPeriodError(ValueError):
    """Neither a month nor a number of days that can be asked about; `name` is the parameter, `fault` what of it."""

    def __init__(self, name: str, fault: str) -> None:
        super().__init__(fault)
        self.name, self.fault = name, fault


@dataclass(frozen=True, slots=True)
class Period:
    """From `first` to `last`, both with it. `days`, when the last so many are meant, else a month is."""

    first: date
    last: date
    days: int | None = None

    @property
    def length(self) -> int:
        """In days."""
        return (self.last - self.first).days + 1

    @property
    def before(self) -> "Period":
        """The month before, or as many days."""
        last = self.first - ONE
        if self.days is None:
            return Period(last.replace(day=1), last)
        return Period(last - ONE * (self.days - 1), last)

    @property
    def words(self) -> str:
        """For people: `the last 30 days`, `October 2026`."""
        if self.days is None:
            return date_format(self.first, pgettext("form of a month", "F Y"))
        return _("the last %(n)d days") % {"n": self.days}

    @property
    def query(self) -> str:
        """As addresses have it."""
        return f"days={self.days}" if self.days else f"month={self.first:%Y-%m}"


def last_days(days: int) -> Period:
    """So many days, today with them."""
    today = clock.today()
    return Period(today - ONE * (days - 1), today, days)


def month_of(day: date) -> Period:
    """The month of a day."""
    first = day.replace(day=1)
    return Period(first, (first + 31 * ONE).replace(day=1) - ONE)


def asked(parameters: Mapping[str, str]) -> Period:
    """`month=2026-10`, or `days=` of 7, 30 and 90; the last 30 days when nothing is told."""
    month, days = parameters.get("month", ""), parameters.get("days", "")
    if month and days:
        raise NoSuchPeriodError("month", _("Give a month or days, not both."))
    if month:
        found = _MONTH.fullmatch(month)
        if found is None:
            raise NoSuchPeriodError("month", _("Must be a month: 2026-10."))
        return month_of(date(int(found[1]), int(found[2]), 1))
    if days and days not in map(str, DAYS):
        said = _("Must be one of %(words)s.") % {"words": in_a_row(map(str, DAYS))}
        raise NoSuchPeriodError("days", said)
    return last_days(int(days or USUAL))
