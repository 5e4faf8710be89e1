"""Rows of the audit log as HTML, written in code: a page has fifty, each with a dozen facts and some differences."""

from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

from django import template
from django.urls import reverse
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import pgettext

from console.audit.models import AuditEntry
from console.audit.shown import FoldedRows, ShownRow
from console.audit.templatetags.audit import kind_of_object
from console.core.markup import link_to, text
from console.core.templatetags.changes import changes_of
from console.core.templatetags.ui import exact

register = template.Library()


@register.simple_tag
def log_row(fold: FoldedRows, open_all: bool) -> SafeString:
    """What stands there as one: a row, or several that say the same."""
    opened = " open" if open_all else ""
    lines = "".join(_line(line, opened) for line in fold.lines)
    return SafeString(_fold(fold, lines, opened) if fold.is_folded else lines)


@register.simple_tag
def log_facts(entry: AuditEntry) -> SafeString:
    """What else is known of a row."""
    return SafeString(f'<dl class="pairs mt-2">\n{"".join(_facts(entry))}</dl>')


def _fold(fold: FoldedRows, lines: str, opened: str) -> str:
    entry, last = fold.first.entry, fold.last.entry
    rows = _("rows %(first)s to %(last)s") % {"first": last.sequence, "last": entry.sequence}
    return (
        f'<details class="log-row log-fold" id="fold-{entry.sequence}"{opened}>\n<summary>'
        f'<span class="chip">{len(fold.lines)} ×</span> <span>{exact(last.at)}</span> '
        f"<span>{text(entry.actor)}</span> <span>{text(entry.label)}</span> "
        f'<span class="quiet">{text(rows)}</span> {_reason(entry)}</summary>\n{lines}</details>\n'
    )


def _line(line: ShownRow, opened: str) -> str:
    entry = line.entry
    label = text(entry.told_label)
    whole = entry.whole_change
    changes = changes_of(line.differences, line.more, whole=whole) if line.differences else ""
    alone = _("This row on a page of its own")
    return (
        f'<details class="log-row" id="row-{entry.sequence}"{opened}>\n<summary>'
        f'<span class="quiet">{entry.sequence}</span> <span>{exact(entry.at)}</span> '
        f"<span>{text(entry.actor)}</span> <span>{text(entry.label)}</span> "
        f'<span title="{label}">{label}</span> {_reason(entry)}</summary>\n'
        f'<div class="inside"><p>{text(entry.sentence)}</p>\n{changes}\n{log_facts(entry)}\n'
        f'<p class="mt-2 on-screen alone"><a href="{_address("audit-entry", entry.sequence)}">'
        f"{text(alone)}</a></p></div>\n</details>\n"
    )


def _reason(entry: AuditEntry) -> str:
    reason = text(entry.told_reason)
    return f'<span class="quiet" title="{reason}">{reason}</span>'


def _facts(entry: AuditEntry) -> Iterator[str]:
    if entry.reason:
        yield _pair(_("Reason"), text(entry.told_reason))
    kind = text(kind_of_object(entry.object_type))
    yield _pair(_("Object"), f'{kind} <span class="mono">{text(entry.object_id)}</span>')
    for term, view, value in (
        (_("Partition"), "partition", entry.partition),
        (_("Project"), "project-whole-history", entry.project),
        (_("Job"), "job-whole-history", entry.job_id),
        (_("Plan"), "plan", entry.plan),
    ):
        if value:
            yield _pair(term, link_to(view, value))
    if entry.cycle:
        yield _pair(_("Cycle"), str(entry.cycle))
    if entry.policy_revision:
        yield _pair(_("Policy"), text(_("revision %(n)s") % {"n": entry.policy_revision}))
    if entry.request_id:
        address = f"{reverse('audit')}?request={quote(entry.request_id)}"
        yield _pair(
            pgettext("of a browser", "Request"),
            f'<a href="{text(address)}">{text(entry.request_id)}</a>',
            "mono",
        )
    yield _pair(_("Hash"), text(entry.hash), "mono quiet")


def _pair(term: str, value: str, css: str = "") -> str:
    """A line of a definition list; the value is HTML."""
    of_class = f' class="{css}"' if css else ""
    return f"<dt>{text(term)}</dt>\n<dd{of_class}>{value}</dd>\n"


def _address(view: str, *arguments: Any) -> str:
    return text(reverse(view, args=arguments))
