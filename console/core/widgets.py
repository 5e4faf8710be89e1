"""Fields of forms as HTML: the usual ones are written in code, for a policy's page has ninety of them.

The others, and all around a field, are templates in `templates/django/forms`, as Django has it.
"""

from collections.abc import Iterator, Mapping
from typing import Any

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
_UNSTYLED = frozenset({"checkbox", "radio", "hidden"})


class Renderer(TemplatesSetting):
    """Django's own, but for inputs and selects."""

    def render(
        self, template_name: str, context: dict[str, Any], request: HttpRequest | None = None
    ) -> SafeString:
        """The widget, field or form of that template."""
        if template_name in _INPUTS:
            return SafeString(_input(context["widget"]))
        if template_name == _SELECT:
            return SafeString(self._select(context["widget"]))
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


def _input(widget: Mapping[str, Any]) -> str:
    return f"<input{_attributes(_of_input(widget))}>"


def _of_input(widget: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    yield "type", widget["type"]
    yield "name", widget["name"]
    if widget["value"] is not None:
        yield "value", _written(widget["value"])
    if widget["type"] not in _UNSTYLED and not widget["attrs"].get("class"):
        yield "class", "form-control"
    yield from widget["attrs"].items()


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
