"""A node's processors as the map of powers has them, written in code: a page has hundreds."""

from functools import lru_cache

from django import template
from django.template.defaultfilters import floatformat
from django.utils.safestring import SafeString
from django.utils.translation import get_language
from django.utils.translation import gettext as _

from console.core.l10n_format import with_label
from console.core.markup import text
from console.power.overview import ShownNode

register = template.Library()


@register.simple_tag
def processors(node: ShownNode) -> SafeString:
    """Each with its shade, number and figure; how it came to be where it was not measured here."""
    language, has_jumped = get_language(), _("has jumped")
    jumped = f" <strong>{text(has_jumped)}</strong>"
    cells = [
        f'<span class="counted power"><span class="swatch pw-{each.shade}"></span>{each.processor.device}: '
        f"{_figure(each.processor.figure, language)}{jumped if each.jumped else ''}</span>"
        for each in node.processors
    ]
    if not cells:
        cells.append(_quiet(_("not measured")))
    cells += map(_quiet, node.sources)
    if node.open:
        cells.append(_quiet(with_label(node.open.get_state_display(), node.open.get_cause_display())))
    return SafeString("\n".join(cells))


def _quiet(words: str) -> str:
    return f'<span class="quiet">{text(words)}</span>'


@lru_cache(maxsize=8192)
def _figure(seconds: float, _language: str | None) -> str:
    """Kept: figures change once a month. How digits are written depends on the language."""
    return text(floatformat(seconds, 3))
