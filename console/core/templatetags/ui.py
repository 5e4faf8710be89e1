"""How things look everywhere: icons, levels, states, times, amounts. State is always an icon and a word."""

from collections.abc import Mapping
from datetime import datetime

from django import template
from django.forms import BoundField
from django.templatetags.static import static
from django.utils.html import escape, format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import pgettext

from console.core import clock, l10n_format
from console.core.markup import exact_time, time_element
from console.core.translate import resay, resay_marked
from console.core.vocabulary import NODE_STATES, STATES, WORDS
from scheduler.model.reasons import SENTENCES

register = template.Library()

STEPS = 8
"""Steps of the level scale in static/css/levels.css; lower levels share the last one."""


@register.simple_tag
def icon(name: str, label: str = "") -> SafeString:
    """An icon of the sprite; decorative unless it has a label."""
    if label:
        return format_html(
            '<svg class="icon" role="img" aria-label="{}"><use href="{}"></use></svg>',
            label,
            _icon_href(name),
        )
    return format_html('<svg class="icon" aria-hidden="true"><use href="{}"></use></svg>', _icon_href(name))


def _icon_href(name: str) -> str:
    return f"{static('vendor/icons/sprite.svg')}#{name}"


@register.filter
def level_class(index: int | None) -> str:
    """The class of a level's colour: `lv-0` the strongest, `lv-none` (hatched) for nothing configured."""
    return "lv-none" if index is None else f"lv-{min(index, STEPS - 1)}"


@register.simple_tag
def level(index: int | None, name: str = "", origin: str = "") -> SafeString:
    """A level as a badge; where it came from is told on hover (and in full on the job's page)."""
    why = resay(origin)
    if index is None:
        return format_html(
            '<span class="level lv-none" title="{}"><span aria-hidden="true">–</span>'
            '<span class="visually-hidden">{}</span></span>',
            escape(why or _("nothing configured")),
            _("unconfigured"),
        )
    shown = escape(name or f"P{index}")
    return format_html('<span class="level {}" title="{}">{}</span>', level_class(index), escape(why), shown)


@register.simple_tag
def level_named(name: str, ranks: Mapping[str, int]) -> SafeString:
    """A level of which only the name was kept; without a colour when the policy has no such level any more."""
    if not name or name == "unconfigured":
        return level(None)
    if name in ranks:
        return level(ranks[name], name)
    return format_html('<span class="chip">{}</span>', name)


_REASONS: dict[str, str] = {reason.value: sentence for reason, sentence in SENTENCES.items()}


@register.filter
def reason_sentence(value: str) -> str:
    """A machine reason as its sentence; nothing for what is no reason."""
    sentence = _REASONS.get(value, "")
    return _(sentence) if sentence else ""


@register.filter
def said(text: str) -> str | SafeString:
    """A sentence that was kept in English, in the reader's language; marked as English where nobody knows it."""
    return resay_marked(text or "")


@register.filter
def begins(path: str, address: str) -> bool:
    """Whether a page is below an address: `/setup/people/` is not below `/people/`."""
    return path.startswith(address)


@register.filter
def retold(text: str) -> str:
    """The same for what may also be no sentence: names and amounts stand as they are."""
    return resay(text or "")


@register.filter
def word(value: str) -> str:
    """A short stored value as people read it."""
    return str(WORDS.get(value, value.replace("_", " ")))


@register.filter
def node_state(value: str) -> str:
    """A node's state as people read it; one that is not known here in Slurm's own word."""
    return "+".join(str(NODE_STATES.get(each, each)) for each in value.lower().split("+"))


@register.simple_tag
def state(value: str, label: str = "") -> SafeString:
    """A state: icon and word."""
    name, tone = STATES.get(value, ("info-circle", "calm"))
    return format_html('<span class="state state-{}">{} {}</span>', tone, icon(name), label or word(value))


def ago_words(seconds: float) -> str:
    """`2 s ago`, `in 3 min`; live.js says it the same way while the page is open."""
    whole = int(seconds)
    if whole < 0:
        return _("in %(time)s") % {"time": l10n_format.duration(-whole)}
    return _("%(time)s ago") % {"time": l10n_format.duration(whole)}


def _moment(value: datetime | int | None) -> datetime | None:
    if not value:
        return None
    return clock.from_epoch(value) if isinstance(value, int) else value


@register.simple_tag
def ago(value: datetime | int | None, never: str = "–") -> SafeString | str:
    """A moment (aware, or epoch seconds) as its age, the exact time on hover; kept current by live.js."""
    moment = _moment(value)
    if moment is None:
        return never
    return time_element(moment, "ago", ago_words((clock.now() - moment).total_seconds()))


@register.simple_tag
def since(value: datetime | int | None, never: str = "–") -> SafeString | str:
    """How long something has lasted (`2 h 14 min`), the exact start on hover."""
    moment = _moment(value)
    if moment is None:
        return never
    return time_element(moment, "since", l10n_format.duration((clock.now() - moment).total_seconds()))


@register.simple_tag
def lasted(value: datetime | int | None, ended: datetime | int | None, never: str = "–") -> SafeString | str:
    """How long something has lasted; of what has ended, from its start to its end."""
    start, end = _moment(value), _moment(ended)
    if start is None or end is None:
        return since(start, never)
    return l10n_format.duration(max(0.0, (end - start).total_seconds()))


@register.simple_tag
def exact(value: datetime | int | None, never: str = "–") -> SafeString | str:
    """The exact time, to the second, with its zone."""
    moment = _moment(value)
    return never if moment is None else exact_time(moment)


@register.filter
def duration(seconds: float | str | None) -> str:
    """`2 h 14 min`; a dash for what is not known (templates pass an empty text for a missing key)."""
    return "–" if seconds in {None, ""} else l10n_format.duration(float(seconds or 0))


@register.simple_tag
def colon() -> str:
    """After a label, with the space that follows it, where the language has one."""
    return pgettext("after a label", ": ")


@register.simple_tag
def period() -> str:
    """At the end of a sentence that ends in a time or a name, with the space that follows it, where there is one."""
    return pgettext("at the end of a sentence", ". ")


@register.simple_tag
def comma() -> str:
    """Between names, with the space that follows it, where the language has one."""
    return pgettext("between names", ", ")


@register.simple_block_tag(end_name="endtypeset")
def typeset(content: str) -> SafeString:
    """Sentences that a page puts side by side, without the spaces between them that the reader's language has not."""
    return SafeString(l10n_format.set_html_in_type(content))


@register.filter
def percent(share: float | None) -> str:
    """`12 %` of a share of 0.12; a dash for what is not known."""
    return "–" if share is None else l10n_format.percent(share)


@register.filter
def amounts(value: Mapping[str, int] | None) -> str:
    """`4 × a100, 16 cpu, 32 GB`."""
    return l10n_format.amounts(value or {})


@register.filter
def number(value: float | None) -> str:
    """A number without needless digits: 120, 0.5."""
    return "–" if value is None else f"{value:.6g}"


@register.filter
def labelled(field: BoundField) -> SafeString:
    """A field in a row, where the column's head is its label for the eye: the label for everybody else."""
    number = field.form.prefix.rpartition("-")[2] if field.form.prefix else ""
    counted = [str(int(number) + 1)] if number.isdecimal() else []
    label = pgettext("between a thing and its part", ", ").join([str(field.label), *counted])
    return field.as_widget(attrs={"aria-label": label})


@register.filter
def age(value: datetime) -> str:
    """`2 s ago`, as plain text."""
    return ago_words((clock.now() - value).total_seconds())


@register.simple_tag
def duration_units() -> str:
    """The units of durations for live.js, the longest first."""
    return ",".join(l10n_format.units().values())


@register.simple_tag
def column(head: str, css: str = "") -> SafeString:
    """The head of a table's column: `num` sets it to the right, `tight` no wider than its text."""
    return format_html('<th scope="col"{}>{}</th>', format_html(' class="{}"', css) if css else "", head)


@register.simple_tag
def pair(term: str, value: object) -> SafeString:
    """A line of a definition list: what it is called, and the plain value."""
    return format_html("<dt>{}</dt><dd>{}</dd>", term, value)


@register.simple_block_tag(end_name="endtable")
def table(content: str, caption: str) -> SafeString:
    """The frame of a table that may be wider than the page; the caption is for who does not see it."""
    return format_html(
        '<div class="scroll phone-cards"><table class="table">'
        '<caption class="visually-hidden">{}</caption>{}</table></div>',
        caption,
        content,
    )
