"""The audit log: who did what, to what, why, and what changed. Whoever may see only part of it sees only that part."""

from django.contrib import messages
from django.core.exceptions import BadRequest, ValidationError
from django.http import Http404, HttpRequest, HttpResponse, QueryDict, StreamingHttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe

from console.accounts.access import person, request_id, require_read
from console.accounts.permissions import Permission
from console.audit.checks import chain_state, check_all
from console.audit.exporting import FORMATS, export
from console.audit.forms import OBJECT_TYPES, LogFilter, SearchName
from console.audit.models import SavedSearch
from console.audit.search import AuditSearch, Page, forget_search, keep_search, place_in_log, read_page
from console.audit.selectors import hash_fits, neighbours, visible_entries
from console.audit.shown import LISTED, LISTED_ALONE, ShownRow, folded, side_by_side
from console.core.htmx import render_page

NOTHING = Page([], None)


@require_safe
def log(request: HttpRequest) -> HttpResponse:
    """The rows one may see, the newest first; `?before=<number>` pages on from there, `?open=1` shows all of each."""
    require_read(request, Permission.AUDIT_VIEW)
    wanted, before = LogFilter(request.GET), request.GET.get("before", "")
    search = wanted.search
    page = read_page(visible_entries(request.user), search, place_in_log(before)) if search else NOTHING
    lines = [ShownRow.of(entry, LISTED) for entry in page.entries]
    saved = SavedSearch.objects.filter(owner=person(request))
    context = {
        "filter": wanted,
        "page": page,
        "folds": folded(lines),
        "lines": lines,
        "paged": before,
        "open_all": request.GET.get("open") == "1",
        "chain": chain_state(),
        "sees_all": request.user.has_perm(Permission.AUDIT_VIEW_ALL),
        "saved": list(saved),
        "query": wanted.query,
        "formats": FORMATS,
        "object_types": OBJECT_TYPES,
    }
    return render_page(request, "audit/log.html", context)


@require_safe
def entry(request: HttpRequest, sequence: int) -> HttpResponse:
    """One row with everything that is in it."""
    require_read(request, Permission.AUDIT_VIEW)
    row = visible_entries(request.user).filter(sequence=sequence).first()
    if row is None:
        raise Http404(_("There is no such page, or it is not yours to see."))
    older, newer = neighbours(request.user, row)
    line = ShownRow.of(row, LISTED_ALONE)
    context = {
        "entry": row,
        "differences": line.differences,
        "more": line.more,
        "sides": side_by_side(row.before, row.after),
        "fits": hash_fits(row),
        "older": older,
        "newer": newer,
    }
    return render(request, "audit/entry.html", context)


@require_POST
def verify(request: HttpRequest) -> HttpResponse:
    """Check the whole chain, row by row, against its head and the anchors outside the database."""
    require_read(request, Permission.AUDIT_VIEW_ALL)
    return render(request, "audit/verified.html", {"found": check_all(person(request).username)})


@require_POST
def export_log(request: HttpRequest) -> StreamingHttpResponse:
    """The rows that the filter finds as a file. A post, because the export is recorded in the person's name."""
    require_read(request, Permission.AUDIT_VIEW)
    search = _search(request)
    kind = request.POST.get("format", "")
    if kind not in FORMATS:
        raise BadRequest(_("There is no such format."))
    rows = search.rows(visible_entries(request.user))
    who = person(request).username
    return export(rows, search.as_json, kind, actor=who, request_id=request_id(request))


@require_POST
def save_search(request: HttpRequest) -> HttpResponse:
    """Keep the filter under a name, and come back to it."""
    require_read(request, Permission.AUDIT_VIEW)
    _search(request)
    query, typed = LogFilter(QueryDict(request.POST.get("query", ""))).query, SearchName(request.POST)
    if typed.is_valid():
        try:
            keep_search(person(request), name=typed.cleaned_data["name"], query=query)
        except ValidationError as error:
            messages.error(request, " ".join(error.messages))
        else:
            messages.success(request, _("The search is kept as “%s”.") % typed.cleaned_data["name"])
    else:
        messages.error(request, _("A search needs a name of at most 60 characters."))
    return redirect(f"{reverse('audit')}?{query}")


@require_POST
def delete_search(request: HttpRequest, pk: int) -> HttpResponse:
    """Forget one's own search."""
    require_read(request, Permission.AUDIT_VIEW)
    if not forget_search(person(request), pk):
        raise Http404(_("There is no such page, or it is not yours to see."))
    messages.success(request, _("The search is removed."))
    return redirect("audit")


def _search(request: HttpRequest) -> AuditSearch:
    """The filter that a form carries along as `query`; 400 when it is wrong."""
    search = LogFilter(QueryDict(request.POST.get("query", ""))).search
    if search is None:
        raise BadRequest(_("The filter makes no sense."))
    return search
