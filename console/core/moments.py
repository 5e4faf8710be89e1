"""Moments that people and programs type: what no database can hold is a mistake of theirs, and no error of ours."""

from datetime import UTC, datetime
from typing import Any

from django import forms
from django.core.exceptions import ValidationError


def within_time(moment: datetime) -> datetime:
    """The moment in UTC. Raises `ValueError` before the year 1 and after 9999, where there is none."""
    try:
        return moment.astimezone(UTC)
    except OverflowError:
        raise ValueError(str(moment)) from None


class WithinTime(forms.DateTimeField):
    """To be put before a field of moments: one that is out of all bounds is refused like any that makes no sense."""

    def to_python(self, value: Any) -> datetime | None:
        """The moment as it was typed."""
        moment: datetime | None = super().to_python(value)
        try:
            if moment is not None:
                within_time(moment)
        except ValueError:
            raise ValidationError(self.error_messages["invalid"], code="invalid") from None
        return moment
