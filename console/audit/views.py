"""The audit log: who did what, to what, why, and what changed. Whoever may see only part of it sees only that part."""

from dataclasses import dataclass

from django.forms import model_to_dict
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.functional import Promise
from django.views.decorators.http import require_POST, require_safe

from console.accounts.access import require_read
from console.accounts.permissions import Permission
from console.audit.forms import LogFilter
from console.audit.models import AuditEntry, AuditHead
from console.audit.registry import ACTIONS
from console.audit.selectors import entry_differences, visible_entries
from console.audit.services import verify_chain
from console.core.diff import Difference
from console.core.htmx import render_page

PAGE_SIZE = 50


@dataclass(frozen=True, slots=True)
class Line:
    """A row as it is shown."""

    entry: AuditEntry
    label: str | Promise
    sentence: str
    differences: list[Difference]


def _line(entry: AuditEntry) -> Line:
    action = ACTIONS.get(entry.action)
    # The words are ours, the facts are put in as they are: format() reads no braces inside them.
    sentence = str(action.sentence).format(**model_to_dict(entry)) if action else entry.action
    return Line(entry, action.label if action else entry.action, sentence, entry_differences(entry))


@require_safe
def log(request: HttpRequest) -> HttpResponse:
    """The rows one may see, the newest first; `?before=<number>` pages on from there."""
    require_read(request, Permission.AUDIT_VIEW)
    wanted = LogFilter(request.GET)
    rows = wanted.apply(visible_entries(request.user))
    before = request.GET.get("before", "")
    if before.isdecimal() and len(before) < 19:
        rows = rows.filter(sequence__lt=int(before))
    shown = list(rows[: PAGE_SIZE + 1])
    sees_all = request.user.has_perm(Permission.AUDIT_VIEW_ALL)
    context = {
        "filter": wanted,
        "lines": [_line(entry) for entry in shown[:PAGE_SIZE]],
        "next_before": shown[PAGE_SIZE - 1].sequence if len(shown) > PAGE_SIZE else None,
        "paged": before,
        "sees_all": sees_all,
        "head": AuditHead.objects.first() if sees_all else None,
    }
    return render_page(request, "audit/log.html", context)


@require_POST
def verify(request: HttpRequest) -> HttpResponse:
    """Check the whole chain, row by row, against its head and the anchors outside the database."""
    require_read(request, Permission.AUDIT_VIEW_ALL)
    return render(request, "audit/verified.html", {"found": verify_chain()})
