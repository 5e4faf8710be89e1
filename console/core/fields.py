"""Form fields that several forms use."""

import re
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.utils.translation import gettext_lazy as _

_BETWEEN = re.compile(r"[\s,;]+")


class NamesField(forms.CharField):
    """User names, one per line or with commas or spaces between; a tuple in the order given, each once."""

    def __init__(self, **kwargs: Any) -> None:
        kwargs.setdefault("widget", forms.Textarea(attrs={"rows": 3, "spellcheck": "false"}))
        super().__init__(required=False, **kwargs)

    def prepare_value(self, value: Any) -> Any:
        """A list as text, one name per line."""
        return "\n".join(value) if isinstance(value, (list, tuple)) else value

    def clean(self, value: Any) -> Any:
        """The names."""
        text = super().clean(value)
        return tuple(dict.fromkeys(name for name in _BETWEEN.split(text or "") if name))


class NumberField(forms.FloatField):
    """A number, with its unit beside the box."""

    def __init__(self, *, unit: Any = "", **kwargs: Any) -> None:
        self.unit = unit
        super().__init__(**kwargs)

    def prepare_value(self, value: Any) -> Any:
        """40, not 40.0."""
        return int(value) if isinstance(value, float) and value.is_integer() else value

    def widget_attrs(self, widget: forms.Widget) -> dict[str, Any]:
        """Any step; the number pad on a phone."""
        return {"step": "any", "inputmode": "decimal"}


class WholeField(forms.IntegerField):
    """A whole number, with its unit beside the box."""

    def __init__(self, *, unit: Any = "", **kwargs: Any) -> None:
        self.unit = unit
        super().__init__(min_value=0, max_value=10**9, **kwargs)


class SwitchField(forms.ChoiceField):
    """On or off as two sentences to choose from, `true` and `false`; on where a script does not say it."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(required=False, **kwargs)

    def prepare_value(self, value: Any) -> Any:
        """A policy's own value as the choices name it."""
        return str(value).lower() if isinstance(value, bool) else value

    def clean(self, value: Any) -> bool:
        """Whether it is on."""
        return bool(super().clean(value) != "false")


class ReasonField(forms.CharField):
    """Why; every change by a person carries it."""

    def __init__(self, **attrs: str) -> None:
        super().__init__(
            label=_("Reason"),
            max_length=1000,
            help_text=_("Why; it stands in the audit log."),
            widget=forms.Textarea(attrs={"rows": 2, **attrs}),
            error_messages={"required": _("Say why; it stands in the audit log.")},
        )


def add_errors(form: forms.BaseForm, errors: Iterable[tuple[str, list[str]]]) -> None:
    """A service's errors at the fields of the form; what belongs to none stands above the form."""
    for field, messages in errors:
        form.add_error(field if field in form.fields else None, messages)


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
