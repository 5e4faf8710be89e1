"""Rows in a form (levels, patterns, overrides) that are added, removed and moved without any script.

The buttons of the rows are submit buttons: `row` = `levels:add`, `levels:remove:2`, `levels:up:2`, `levels:down:2`.
Such a post saves and checks nothing; the page comes back with what was typed and the rows rearranged.
"""

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, cast

from django.forms import BaseForm, BaseFormSet, Form, formset_factory
from django.http import QueryDict

from console.core.limits import most

BUTTON = "row"
MOST_ROWS = max(most(name) for name in ("patterns", "levels", "overrides", "steps"))
Typed = dict[str, Any]


class Rows(BaseFormSet):
    """A formset whose blank rows do not count: whoever adds one too many need not take it away."""

    def initial_form_count(self) -> int:
        """None when bound: every row may then be blank."""
        return 0 if self.is_bound else super().initial_form_count()

    def get_form_kwargs(self, index: int | None) -> dict[str, Any]:
        """The browser must not insist on a row that may stay blank."""
        return {**super().get_form_kwargs(index), "use_required_attribute": False}

    @property
    def filled(self) -> list[tuple[int, Typed]]:
        """Number and cleaned data of every row that is not blank; after `is_valid`."""
        return [(i, form.cleaned_data) for i, form in enumerate(self.forms) if form.has_changed()]


@cache
def rows_of(form: type[Form]) -> type[Rows]:
    """The class of rows of `form`."""
    made = formset_factory(
        form, formset=Rows, extra=0, max_num=MOST_ROWS, absolute_max=MOST_ROWS, validate_max=True
    )
    return cast(type[Rows], made)


def make_rows(forms: Mapping[str, type[Form]], **kwargs: Any) -> dict[str, Rows]:
    """The rows by prefix: `data=` what was posted, or `initial=` a list for each prefix."""
    initial = kwargs.pop("initial", {})
    return {
        prefix: rows_of(form)(prefix=prefix, initial=initial.get(prefix), **kwargs)
        for prefix, form in forms.items()
    }


def typed_form(data: QueryDict, form: BaseForm) -> Typed:
    """What was typed into a form, unchecked, as its `initial`."""
    fields = form.fields
    return {name: fields[name].widget.value_from_datadict(data, {}, name) for name in fields}


def typed_rows(data: QueryDict, prefix: str, form: type[Form]) -> list[Typed]:
    """What was typed into rows, unchecked, as their `initial`."""
    total = data.get(f"{prefix}-TOTAL_FORMS", "0")
    count = min(int(total), MOST_ROWS) if total.isdecimal() else 0
    return [
        {
            name: field.widget.value_from_datadict(data, {}, f"{prefix}-{i}-{name}")
            for name, field in form.base_fields.items()
        }
        for i in range(count)
    ]


def rearranged(data: QueryDict, forms: Mapping[str, type[Form]]) -> dict[str, list[Typed]] | None:
    """All rows by prefix, as the button that was pressed wants them; None when it was another button."""
    command = data.get(BUTTON, "").split(":")
    if command[0] not in forms:
        return None
    result = {prefix: typed_rows(data, prefix, form) for prefix, form in forms.items()}
    _apply(result[command[0]], command[1:])
    return result


def _apply(rows: list[Typed], command: Sequence[str]) -> None:
    match command:
        case ["add"] if len(rows) < MOST_ROWS:
            rows.append({})
        case ["remove", index] if _inside(index, rows):
            del rows[int(index)]
        case ["up", index] if _inside(index, rows) and int(index) > 0:
            rows.insert(int(index) - 1, rows.pop(int(index)))
        case ["down", index] if _inside(index, rows):
            rows.insert(int(index) + 1, rows.pop(int(index)))


def _inside(index: str, rows: Sequence[Typed]) -> bool:
    return index.isdecimal() and len(index) < 6 and int(index) < len(rows)
