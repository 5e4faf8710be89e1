"""Inputs and selects that are written in code are what Django's own templates make of them."""

import re
from typing import Any

import pytest
from django import forms
from django.forms.renderers import TemplatesSetting

from console.core.widgets import Renderer

HOSTILE = "\"><script>'&"
CHOICES = [("", "–"), (1, "One <b>"), ("group & co", [("a", "A"), (HOSTILE, HOSTILE)]), (True, "yes")]
SHOWN: list[tuple[forms.Widget, Any]] = [
    (forms.TextInput(attrs={"maxlength": 9, "required": True, "disabled": False, "title": HOSTILE}), HOSTILE),
    (forms.TextInput(attrs={"class": "own"}), None),
    (forms.NumberInput(attrs={"min": 0.5}), 3.25),
    (forms.HiddenInput(), "kept"),
    (forms.CheckboxInput(), True),
    (forms.CheckboxInput(), False),
    (forms.PasswordInput(), "never shown"),
    (forms.DateInput(), "2026-11-25"),
    (forms.Select(choices=CHOICES), HOSTILE),
    (forms.Select(choices=CHOICES, attrs={"class": "own", "required": True}), 1),
    (forms.SelectMultiple(choices=CHOICES), ["a", 1]),
    (forms.Textarea(), HOSTILE),
    (forms.RadioSelect(choices=CHOICES), "a"),
]


def tokens(html: str) -> list[str]:
    """Elements and texts, without the space between them and without the classes of our style sheet."""
    html = re.sub(r'class="form-(select|control)"', "", html)
    html = re.sub(r"\s+", " ", html).replace(" >", ">")
    return [part.strip() for part in re.split(r"(<[^>]*>)", html) if part.strip()]


@pytest.mark.parametrize(("widget", "value"), SHOWN, ids=lambda each: type(each).__name__)
def test_it_is_the_same(widget: forms.Widget, value: Any) -> None:
    written, made = (
        widget.render("the_name", value, {"id": "id_the_name"}, renderer=renderer)
        for renderer in (Renderer(), TemplatesSetting())
    )
    assert tokens(written) == tokens(made)


def test_an_own_style_takes_the_place_of_the_usual_one() -> None:
    own = forms.Select(choices=CHOICES, attrs={"class": "own"}).render("a", "", renderer=Renderer())
    usual = forms.TextInput().render("a", "", renderer=Renderer())
    assert 'class="own"' in own and "form-select" not in own
    assert 'class="form-control"' in usual
