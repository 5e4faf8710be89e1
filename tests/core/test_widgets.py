"""Inputs and selects that are written in code are what Django's own templates make of them."""

import re
from typing import Any

import pytest
from django import forms
from django.forms.renderers import TemplatesSetting
from django.forms.widgets import ChoiceWidget

from console.core.fields import NamesField, NumberField, ReasonField, WholeField
from console.core.form_renderer import Renderer

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
    (forms.CheckboxSelectMultiple(choices=CHOICES), ["a", HOSTILE]),
]


def tokens(html: str) -> list[str]:
    """Elements and texts, without the space between them and without what our style sheet and phones need."""
    html = re.sub(
        r'class="form-(select|control)"|autocapitalize="none"|autocorrect="off"|inputmode="numeric"', "", html
    )
    html = re.sub(r"\s+", " ", html).replace(" >", ">")
    return [part.strip() for part in re.split(r"(<[^>]*>)", html) if part.strip()]


@pytest.mark.parametrize(("widget", "value"), SHOWN, ids=lambda each: type(each).__name__)
def test_it_is_the_same(widget: forms.Widget, value: Any) -> None:
    written, made = (
        widget.render("the_name", value, {"id": "id_the_name"}, renderer=renderer)
        for renderer in (Renderer(), TemplatesSetting())
    )
    assert tokens(written) == tokens(made)


@pytest.mark.parametrize("wrapped", [True, False])
@pytest.mark.parametrize("kind", [forms.RadioSelect, forms.CheckboxSelectMultiple])
def test_one_of_several_buttons_is_the_same(kind: type[ChoiceWidget], wrapped: bool) -> None:
    for option in kind(choices=CHOICES).subwidgets("the_name", "a", {"id": "id_the_name"}):
        context = {"widget": {**option, "wrap_label": wrapped}}
        written, made = (
            renderer.render(option["template_name"], context) for renderer in (Renderer(), TemplatesSetting())
        )
        assert tokens(written) == tokens(made)


def test_an_own_style_takes_the_place_of_the_usual_one() -> None:
    own = forms.Select(choices=CHOICES, attrs={"class": "own"}).render("a", "", renderer=Renderer())
    usual = forms.TextInput().render("a", "", renderer=Renderer())
    assert 'class="own"' in own and "form-select" not in own
    assert 'class="form-control"' in usual


class Phoned(forms.Form):
    """What people type on a phone."""

    user = forms.CharField()
    members = NamesField()
    jobs = WholeField()
    hours = NumberField()
    reason = ReasonField()
    told = forms.CharField(widget=forms.TextInput(attrs={"autocapitalize": "sentences"}))


def test_a_phone_leaves_names_as_they_are_typed_and_shows_the_right_keys() -> None:
    form = Phoned(renderer=Renderer())
    said = {name: str(form[name]) for name in form.fields}
    as_typed = 'autocapitalize="none" autocorrect="off"'
    assert {name for name in said if as_typed in said[name]} == {"user", "members"}
    assert 'inputmode="numeric"' in said["jobs"]
    assert 'inputmode="decimal"' in said["hours"] and "numeric" not in said["hours"]
    assert said["told"].count("autocapitalize") == 1


class Asked(forms.Form):
    """A field of each kind: with a unit, a hint and an error, a group of buttons, and a plain one."""

    waits = WholeField(label="<Wait>", unit="s & more", help_text="Not <b>too</b> long.")
    kind = forms.ChoiceField(choices=[("a", "A")], widget=forms.RadioSelect, label="Kind")
    name = forms.CharField(label="")


def test_around_a_field_stand_its_label_unit_hint_and_errors() -> None:
    form = Asked({"waits": "no number", "kind": "a", "name": "x"}, renderer=Renderer())
    waits = form["waits"].as_field_group()
    assert tokens(waits)[:3] == ['<div class="field">', '<label for="id_waits">', "&lt;Wait&gt;"]
    assert '<span class="unit">s &amp; more</span></div>' in waits
    assert '<p class="hint" id="id_waits_helptext">Not &lt;b&gt;too&lt;/b&gt; long.</p>' in waits
    assert '<ul class="field-errors" id="id_waits_error">' in waits and waits.endswith("</div>")
    kind = form["kind"].as_field_group()
    assert tokens(kind)[:3] == ['<fieldset class="field">', "<legend>", "Kind"] and kind.endswith(
        "</fieldset>"
    )
    name = form["name"].as_field_group()
    assert "<label" not in name and "unit" not in name and "field-errors" not in name
