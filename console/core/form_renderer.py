"""Fields of forms as HTML: the usual ones, and what is around each, are written in code: a policy's page has ninety.

The others are templates in `templates/django/forms`, as Django has it.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from django.forms import BoundField
from django.forms.renderers import TemplatesSetting
from django.http import HttpRequest
from django.utils.safestring import SafeString

from console.core.markup import text

_WIDGETS = "django/forms/widgets/{}.html"
_INPUTS = frozenset(
    _WIDGETS.format(name)
    for name in (
        "text",
        "number",
        "email",
        "url",
        "password",
        "hidden",
        "date",
        "datetime",
        "time",
        "checkbox",
        "input",
    )
)
_SELECT, _OPTION = _WIDGETS.format("select"), _WIDGETS.format("select_option")
_CHOICES = frozenset(_WIDGETS.format(name) for name in ("checkbox_option", "radio_option", "input_option"))
_FIELD = "django/forms/field.html"
_ERRORS = frozenset({"django/forms/errors/list/default.html", "django/forms/errors/list/ul.html"})
_UNSTYLED = frozenset({"checkbox", "radio", "hidden"})
_AS_TYPED = {"autocapitalize": "none", "autocorrect": "off"}
"""A line of a form is a name, a pattern or a code: no phone writes it large or mends it."""


class Renderer(TemplatesSetting):
    """Django's own, but for inputs and selects, what is around a field, and the errors that there are not."""

    def render(
        self, template_name: str, context: dict[str, Any], request: HttpRequest | None = None
    ) -> SafeString:
        """The widget, field or form of that template."""
        if template_name in _INPUTS:
            return SafeString(_input(context["widget"]))
        if template_name == _SELECT:
            return SafeString(self._select(context["widget"]))
        if template_name in _CHOICES:
            return SafeString(_choice(context["widget"]))
        if template_name == _FIELD:
            return SafeString(_around(context["field"]))
        if template_name in _ERRORS and not context["errors"]:
            return SafeString("")
        return SafeString(super().render(template_name, context, request))

    def _select(self, widget: Mapping[str, Any]) -> str:
        return f"<select{_attributes(_of_select(widget))}>\n{''.join(self._groups(widget))}</select>"

    def _groups(self, widget: Mapping[str, Any]) -> Iterator[str]:
        for name, options, _number in widget["optgroups"]:
            if name:
                yield f'<optgroup label="{_said(name)}">\n'
            for option in options:
                yield self._option(option)
            if name:
                yield "</optgroup>\n"

    def _option(self, option: dict[str, Any]) -> str:
        if option["template_name"] != _OPTION:
            return self.render(option["template_name"], {"widget": option})
        return f"<option{_attributes(_of_option(option))}>{_said(option['label'])}</option>\n"


def _around(field: BoundField) -> str:
    """A field with its label, unit, hint and errors."""
    element = "fieldset" if field.use_fieldset else "div"
    unit, parts = getattr(field.field, "unit", ""), [f'<{element} class="field">']
    if field.label:
        label = _said(field.label)
        of = f'<label for="{_said(field.id_for_label)}">{label}</label>'
        parts.append(f"<legend>{label}</legend>" if field.use_fieldset else of)
    inside = _said(field)
    parts.append(
        f'<div class="with-unit">{inside}<span class="unit">{_said(unit)}</span></div>' if unit else inside
    )
    if field.help_text:
        parts.append(f'<p class="hint" id="{_said(field.auto_id)}_helptext">{_said(field.help_text)}</p>')
    return "\n".join([*parts, f"{field.errors}</{element}>"])


def _choice(widget: Mapping[str, Any]) -> str:
    """One of several boxes or buttons, within its label."""
    if not widget["wrap_label"]:
        return _input(widget)
    number = widget["attrs"].get("id")
    of = f' for="{_said(number)}"' if number else ""
    return f"<label{of}>{_input(widget)} {_said(widget['label'])}</label>"


def _input(widget: Mapping[str, Any]) -> str:
    return f"<input{_attributes(_of_input(widget))}>"


def _of_input(widget: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    yield "type", widget["type"]
    yield "name", widget["name"]
    if widget["value"] is not None:
        yield "value", _written(widget["value"])
    if widget["type"] not in _UNSTYLED and not widget["attrs"].get("class"):
        yield "class", "form-control"
    yield from _on_a_phone(widget).items()
    yield from widget["attrs"].items()


def _on_a_phone(widget: Mapping[str, Any]) -> Mapping[str, str]:
    """What its keyboard should be and do, where the field does not say so itself."""
    attributes = widget["attrs"]
    if widget["type"] == "text":
        return {name: value for name, value in _AS_TYPED.items() if name not in attributes}
    whole = widget["type"] == "number" and not {"step", "inputmode"} & attributes.keys()
    return {"inputmode": "numeric"} if whole else {}


def _of_select(widget: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    yield "name", widget["name"]
    if not widget["attrs"].get("class"):
        yield "class", "form-select"
    yield from widget["attrs"].items()


def _of_option(option: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    yield "value", _written(option["value"])
    yield from option["attrs"].items()


def _attributes(pairs: Iterator[tuple[str, Any]]) -> str:
    """As in HTML: one that is true stands by its name alone, one that is false not at all."""
    return "".join(
        f" {name}" if value is True else f' {name}="{_said(value)}"'
        for name, value in pairs
        if value is not False
    )


def _written(value: Any) -> str:
    """A value is always text: true is a word there."""
    return value if isinstance(value, str) else str(value)


def _said(value: Any) -> str:
    return text(_written(value))
