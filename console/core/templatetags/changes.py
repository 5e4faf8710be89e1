"""What differs, as a list: written in code, for the audit log has hundreds of lines of it on a page."""

from collections.abc import Iterator, Sequence
from typing import Any

from django import template
from django.template import Context
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

from console.core.diff import KeyChange, KeyDifference
from console.core.markup import text
from console.core.templatetags.cut import LISTED
from console.core.templatetags.ui import colon
from console.core.templatetags.words import json_words, key_words, spelled_out

register = template.Library()


@register.simple_tag(takes_context=True)
def change_list(context: Context, differences: Sequence[KeyDifference]) -> SafeString:
    """As much as the page shows, `most_shown`; `left_out` of the differences were left out before. `whole`: the thing
    itself has come or gone, and the differences are its fields."""
    return changes_of(differences, context.get("left_out"), context.get("most_shown"), context.get("whole"))


def changes_of(
    differences: Sequence[KeyDifference],
    left_out: int | None = None,
    most_shown: int | None = None,
    whole: KeyChange | None = None,
) -> SafeString:
    """The same for what is written in code."""
    most = int(most_shown or LISTED)
    fields_of = whole if len(differences) > 1 else None
    lines = [f"<li>{_line(each, fields_of)}</li>" for each in differences[:most]]
    if not lines:
        lines = [_quiet(_("nothing"))]
    if more := int(left_out or 0) + max(0, len(differences) - most):
        lines.append(_quiet(_("and %(n)s more") % {"n": more}))
    if fields_of:
        said = _("added") if fields_of == KeyChange.ADDED else _("removed")
        lines = [f"<li>{text(said)}{text(colon())}<ul>{''.join(lines)}</ul></li>"]
    return SafeString(f'<ul class="changes">{"".join(lines)}</ul>')


def _quiet(words: str) -> str:
    return f'<li class="quiet">{text(words)}</li>'


def _line(difference: KeyDifference, field_of: KeyChange | None) -> str:
    return " ".join(_parts(spelled_out(difference), field_of))


def _parts(difference: KeyDifference, field_of: KeyChange | None) -> Iterator[str]:
    """What has become of the thing itself is said once, not again with each of its fields."""
    yield f'<span class="quiet">{text(key_words(difference.path))}{text(colon())}</span>'
    before, after = _marked("del", difference, "before"), _marked("ins", difference, "after")
    match difference.change:
        case KeyChange.ADDED:
            yield from (after,) if field_of else (text(_("added")), after)
        case KeyChange.REMOVED:
            yield from (before,) if field_of else (text(_("removed")), before)
        case KeyChange.CHANGED:
            yield from (before, "→", after)


def _marked(element: str, difference: KeyDifference, side: str) -> str:
    value: Any = getattr(difference, side)
    return f"<{element}>{text(json_words(value, difference.path))}</{element}>"
