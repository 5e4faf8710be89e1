"""The one door of forms that change something: what saves, what comes back, and with what said."""

from typing import Any

import pytest
from django import forms
from django.contrib.messages import get_messages
from django.contrib.messages.storage.cookie import CookieStorage
from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse
from django.test import RequestFactory
from django_htmx.middleware import HtmxDetails

from console.accounts.audited_form import Saved, audited_form
from console.accounts.models import User
from console.core.concurrent_changes import OvertakenError
from console.core.fields import ReasonField
from console.core.rows import Rows


class NumberForm(forms.Form):
    number = forms.IntegerField()
    reason = ReasonField()


class ItemForm(forms.Form):
    item = forms.CharField()


ROWS: dict[str, type[forms.Form]] = {"items": ItemForm}
GOOD = {
    "number": "4",
    "reason": "so",
    "items-TOTAL_FORMS": "1",
    "items-INITIAL_FORMS": "0",
    "items-0-item": "a",
}


class Page:
    """What the door calls: it notes what was saved, and what was shown."""

    def __init__(self, fault: Exception | None = None) -> None:
        self.saved: list[tuple[int, list[str], dict[str, str]]] = []
        self.form, self.rows, self.invalid = NumberForm(), dict[str, Rows](), False
        self._fault = fault

    def save(self, form: NumberForm, rows: dict[str, Rows], by: dict[str, str]) -> Saved:
        if self._fault:
            raise self._fault
        items = [row["item"] for _index, row in rows["items"].filled]
        self.saved.append((form.cleaned_data["number"], items, by))
        return Saved("/there/", "Done.")

    def show(self, form: NumberForm, rows: dict[str, Rows], *, invalid: bool = False) -> HttpResponse:
        self.form, self.rows, self.invalid = form, rows, invalid
        return HttpResponse("the page")


def post(data: dict[str, str], **headers: str) -> HttpRequest:
    request: Any = RequestFactory().post("/here/", data, headers=headers)
    request.user, request.htmx = User(username="ada"), HtmxDetails(request)
    request._messages = CookieStorage(request)
    return request


def take(page: Page, request: HttpRequest, **more: Any) -> HttpResponse:
    return audited_form(request, NumberForm, page.save, page.show, rows=ROWS, **more)


def test_what_is_right_is_saved_and_leads_on() -> None:
    page, request = Page(), post(GOOD)
    answer = take(page, request)
    assert (answer.status_code, answer["Location"]) == (302, "/there/")
    [(number, items, by)] = page.saved
    assert (number, items, by["actor"], by["reason"]) == (4, ["a"], "ada", "so")
    assert [str(each) for each in get_messages(request)] == ["Done."]
    answer = take(page, post(GOOD, **{"HX-Request": "true"}))
    assert answer["HX-Redirect"] == "/there/"


@pytest.mark.parametrize("button", [{"row": "items:add"}, {"again": "1"}])
def test_another_button_saves_nothing_and_keeps_what_was_typed(button: dict[str, str]) -> None:
    page = Page()
    take(page, post(GOOD | {"number": "many"} | button), back="again")
    assert page.saved == [] and not page.invalid
    assert page.form.initial["number"] == "many" and not page.form.is_bound
    assert len(page.rows["items"].forms) == (2 if "row" in button else 1)


def test_all_that_is_wrong_is_said_at_once() -> None:
    page = Page()
    take(
        page, post(GOOD | {"number": "many", "reason": "", "items-0-item": "x" * 300} | {"items-1-item": "b"})
    )
    assert page.saved == [] and page.invalid
    assert set(page.form.errors) == {"number", "reason"}


@pytest.mark.parametrize(
    ("fault", "where", "words"),
    [
        (ValidationError({"number": "too much"}), "number", "too much"),
        (ValidationError({"elsewhere": "no such"}), "__all__", "no such"),
        (ValidationError("not now"), "__all__", "not now"),
        (OvertakenError("somebody was quicker"), "__all__", "somebody was quicker"),
    ],
)
def test_what_a_service_refuses_stands_in_the_form(fault: Exception, where: str, words: str) -> None:
    page, request = Page(fault), post(GOOD)
    assert take(page, request).content == b"the page"
    assert page.invalid and page.form.errors == {where: [words]}
    assert list(get_messages(request)) == []
