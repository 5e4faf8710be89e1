"""The one door of pages on which a person changes something that the audit log keeps."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import NamedTuple, TypeVar

from django.contrib import messages
from django.core.exceptions import ValidationError
from django.forms import BaseForm, Form
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django_htmx.http import HttpResponseClientRedirect

from console.accounts.access import told
from console.core.concurrent_changes import OvertakenError
from console.core.fields import add_errors
from console.core.htmx import wants_part
from console.core.rows import Rows, make_rows, rearranged, typed_form, typed_rows

F = TypeVar("F", bound=BaseForm)
RowForms = Mapping[str, type[Form]]
NO_ROWS: RowForms = MappingProxyType({})


class Saved(NamedTuple):
    """Where to go on after a change, and what is said there."""

    to: str
    words: str = ""
    level: int = messages.SUCCESS


def audited_form(  # noqa: PLR0913 - what differs from page to page
    request: HttpRequest,
    make: Callable[..., F],
    save: Callable[[F, dict[str, Rows], dict[str, str]], Saved | HttpResponse | None],
    show: Callable[..., HttpResponse],
    *,
    rows: RowForms = NO_ROWS,
    back: str = "",
    valid: Callable[[F, dict[str, Rows]], bool] | None = None,
) -> HttpResponse:
    """Take a posted form; whether the person may change it was asked before.

    1. A button of its rows, or the one called `back`, saves nothing: the page comes again with what was typed.
    2. The form (`make(data=…)`) and its rows are checked, all of them at once, or by `valid`.
    3. `save(form, rows, by)` changes the thing and writes the audit row; `by`: actor, reason, request id. It may answer
       with a page of its own, or with None when it has put what is wrong into the form.
    4. What a service refuses stands at its field, what somebody else was quicker with above the form
       (`show(form, rows, invalid=True)`).
    5. Saved, the page goes on, with htmx or without.
    """
    typed = rearranged(request.POST, rows)
    if typed is None and back and back in request.POST:
        typed = {prefix: typed_rows(request.POST, prefix, each) for prefix, each in rows.items()}
    if typed is not None:
        form = make(initial=typed_form(request.POST, make()))
        return show(form, make_rows(rows, initial=typed))
    form, bound = make(data=request.POST), make_rows(rows, data=request.POST)
    if valid(form, bound) if valid else all([form.is_valid(), *(each.is_valid() for each in bound.values())]):
        try:
            saved = save(form, bound, told(request, form))
        except OvertakenError as error:
            form.add_error(None, error.for_people)
        except ValidationError as error:
            faults = error.message_dict if hasattr(error, "error_dict") else {"": error.messages}
            add_errors(form, faults.items())
        else:
            if isinstance(saved, HttpResponse):
                return saved
            if saved:
                return _go_on(request, saved)
    return show(form, bound, invalid=True)


def _go_on(request: HttpRequest, saved: Saved) -> HttpResponse:
    if saved.words:
        messages.add_message(request, saved.level, saved.words)
    return HttpResponseClientRedirect(saved.to) if wants_part(request) else redirect(saved.to)
