"""Studies of the last days: their list, and one with how far it is, polled until it is over."""

from typing import Any

from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_POST, require_safe

from console.accounts.access import person, request_id, require_read, require_write
from console.accounts.permissions import Permission
from console.core import clock
from console.core.htmx import NO_CONTENT, render_page, wants_part
from console.history.answering import decode_past
from console.history.hindsight.asking import is_in_force
from console.history.hindsight.wording import told_of
from console.history.models import Study, StudyKind, StudyState
from console.history.studies import cancel, title_of, visible_studies
from console.history.studying import SILENT
from console.history.wording import plots_of

PAGE = "history/study.html"
PAGE_SIZE = 50


@require_safe
def studies(request: HttpRequest) -> HttpResponse:
    """The studies that are this person's to see, the newest first."""
    require_read(request, Permission.STUDY_VIEW)
    rows = visible_studies(person(request)).defer("result")
    page = Paginator(rows, PAGE_SIZE).get_page(request.GET.get("page"))
    context = {"page": page, "rows": [(study, title_of(study)) for study in page]}
    return render(request, "history/studies.html", context)


@require_safe
def study(request: HttpRequest, pk: int) -> HttpResponse:
    """One study, live until it is over."""
    found = get_object_or_404(visible_studies(person(request)), pk=pk)
    require_read(request, Permission.STUDY_VIEW, found)
    if wants_part(request) and request.GET.get("since") == str(found.version):
        return HttpResponse(status=NO_CONTENT)
    return render_page(request, PAGE, context_of(request, found))


@require_POST
def study_cancel(request: HttpRequest, pk: int) -> HttpResponse:
    """Cancel it; one that is over stays as it is."""
    found = get_object_or_404(visible_studies(person(request)), pk=pk)
    require_write(request, Permission.STUDY_CANCEL, found)
    cancel(actor=person(request).username, study=found, request_id=request_id(request))
    if wants_part(request):
        return render(request, "history/_study.html", context_of(request, found))
    return redirect("study", pk=pk)


def context_of(request: HttpRequest, found: Study) -> dict[str, Any]:
    """What the page shows of a study, and the panel beside a form."""
    more = _of_hindsight(found) if found.kind == StudyKind.HINDSIGHT else _of_looks(found)
    return {
        **more,
        "study": found,
        "title": title_of(found),
        "may_cancel": found.open and request.user.has_perm(Permission.STUDY_CANCEL, found),
        "nobody_comes": _nobody_comes(found),
    }


def _of_looks(found: Study) -> dict[str, Any]:
    past = decode_past(found.result) if found.result else None
    return {"past": past, "plots": plots_of(past) if past else []}


def _of_hindsight(found: Study) -> dict[str, Any]:
    told = {"answer_of": found.result, "told": told_of(found.result)} if found.result else {}
    return {**told, "hindsight": True, "in_force": is_in_force(found)}


def _nobody_comes(found: Study) -> bool:
    """Whether it waits although no other is worked on: then no worker takes studies."""
    waits = found.state == StudyState.QUEUED and clock.now() - found.asked_at > SILENT
    return waits and not Study.objects.filter(state=StudyState.RUNNING).exists()
