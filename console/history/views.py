"""Studies of the last days: their list, and one with how far it is, polled until it is over."""

from collections.abc import Callable
from typing import Any

from django.contrib import messages
from django.core.exceptions import ValidationError
from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from console.accounts.access import person, request_id, require_read, require_write
from console.accounts.permissions import Permission
from console.cluster.models import Cluster
from console.cluster.selectors import shown_cluster
from console.core import clock
from console.core.diff import differences
from console.core.htmx import NO_CONTENT, render_page, wants_part
from console.history.answering import decode_past
from console.history.changes import HypotheticalChange, file_change
from console.history.forms import (
    FormFaultsError,
    compared_policy,
    requested_project,
    typed_policy,
    typed_project,
    typed_proposal,
    typed_quotas,
    typed_types,
)
from console.history.hindsight.asking import (
    USUAL,
    ask_hindsight,
    asked_span,
    days_known,
    is_in_force,
    kept_for,
    spans_for,
)
from console.history.hindsight.wording import told_of
from console.history.models import Study, StudyKind, StudyState
from console.history.past import days_asked, over_days_at_once, spans_kept
from console.history.studies import ask, cancel, takes_too_long, title_of, tried_on_last_week, visible_studies
from console.history.studying import SILENT
from console.history.what_if import NotNowError, what_if
from console.history.wording import plots_of, sentences
from console.partitions.forms import TYPES
from console.partitions.models import Partition
from console.partitions.priority_file import allowed_to, require_import
from console.partitions.selectors import policy_in_force, policy_of, visible_partitions, written_out
from console.partitions.views import asked_draft
from console.projects.selectors import visible_projects, visible_requests
from scheduler.contracts.config import encode_policy
from scheduler.contracts.errors import InputError
from scheduler.contracts.jsontext import parse

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


# --- What the last month would have been with a partition's policy: the answer that is kept, and asking for one.


@require_http_methods(["GET", "HEAD", "POST"])
def hindsight(request: HttpRequest, name: str) -> HttpResponse:
    """The page; sent, it asks about the policy in force. Who may only read the policy reads what is kept."""
    rows = visible_partitions(person(request)).filter(revision__isnull=False)
    partition = get_object_or_404(rows, name=name)
    require_read(request, Permission.POLICY_VIEW, partition)
    if request.method == "POST":
        return _ask(request, partition)
    kept, known = kept_for(partition), days_known(partition)
    spans = spans_for(known)
    context = {
        "partition": partition,
        "policy": policy_of(partition),
        "tab": "hindsight",
        "may_see_policy": True,
        "may_change": request.user.has_perm(Permission.POLICY_CHANGE, partition),
        "known": known,
        "spans": spans,
        "usual": USUAL if USUAL in spans else max(spans, default=0),
        "others": kept.others,
    }
    if kept.shown is not None:
        shown = Study.objects.select_related("cluster").get(pk=kept.shown.pk)
        context |= context_of(request, shown)
    return render(request, "history/hindsight.html", context)


def _ask(request: HttpRequest, partition: Partition) -> HttpResponse:
    require_write(request, Permission.POLICY_CHANGE, partition)
    try:
        ask_hindsight(
            actor=person(request).username,
            partition=partition,
            policy=policy_of(partition),
            days=asked_span(request.POST.get("days", "")) or USUAL,
            request_id=request_id(request),
        )
    except NotNowError as error:
        messages.error(request, str(error))
    return redirect("partition-hindsight", name=partition.name)


# --- The bar of the policy's page: what the form changes, and what that does now and would have done in the past.


NOW, PAST = "now", "past"


def in_bar(partition: Partition, data: QueryDict, what: str) -> dict[str, Any]:
    """What the bar shows of the form: its changes and their effect now, or the effect over the last day."""
    try:
        change = typed_policy(partition, data)
        return _bar_past(partition, change) if what == PAST else _bar_now(partition, change)
    except FormFaultsError as error:
        return {"faults": error.lines}
    except NotNowError as error:
        return {"not_now": str(error)}


def _bar_now(partition: Partition, change: HypotheticalChange) -> dict[str, Any]:
    """Where nothing is changed nothing is decided, and of the past only what can be answered at once is asked."""
    force = written_out(policy_in_force(partition).document)
    changes = differences(force, encode_policy(change.policies[partition.name]))
    if not changes:
        return {"changes": changes}
    found: dict[str, Any] = {"changes": changes, "past_days": _past_days(partition)}
    try:
        answer = what_if(partition.cluster, change)
    except NotNowError as error:
        return found | {"not_now": str(error)}
    told = [(each, sentences(each)) for each in answer.touched]
    return found | {
        "answer": answer,
        "told": told,
        "untouched": [each.partition for each in answer.partitions if each.nothing],
    }


def _past_days(partition: Partition) -> int:
    """The shortest span that is kept, if it takes no study; else 0."""
    days = min(spans_kept(), default=0)
    return 0 if not days or takes_too_long(partition.cluster, days) else days


def _bar_past(partition: Partition, change: HypotheticalChange) -> dict[str, Any]:
    days = _past_days(partition)
    if not days:
        return {}
    past = over_days_at_once(partition.cluster, change, days)
    return {"past": past, "plots": plots_of(past), "days": days}


# --- The panel "what would change" of the forms: a part for htmx, a page of its own without script. Nothing is saved.
#
# A question that takes longer than a request becomes a study.


MOST_ROWS = 25
HINDSIGHT = "hindsight"
"""A field of the policy's form: so many days of finished jobs are to be simulated."""
NOT_CARRIED = frozenset({"csrfmiddlewaretoken", "row", "back", "days", "in_bar", "unfold", HINDSIGHT})

Read = Callable[[], HypotheticalChange]


@require_POST
def policy(request: HttpRequest, name: str) -> HttpResponse:
    """What the policy in the form would change, or the revision or draft that is compared (`to`)."""
    partition = get_object_or_404(visible_partitions(person(request)), name=name, revision__isnull=False)
    require_read(request, Permission.POLICY_VIEW, partition)
    require_write(request, Permission.POLICY_CHANGE, partition)
    if to := request.POST.get("to"):
        back = reverse("partition-compare", args=[name], query={"to": to})
        return _answer(request, partition.cluster, lambda: compared_policy(partition, to), back, "")
    what = request.POST.get("in_bar")
    if what in (NOW, PAST) and wants_part(request):
        context = {"to": request.path, "most": MOST_ROWS, "unfold": "unfold" in request.POST, "bar": True}
        return render(request, f"history/_bar_{what}.html", context | in_bar(partition, request.POST, what))
    back = reverse("partition-policy", args=[name])

    def read() -> HypotheticalChange:
        return typed_policy(partition, request.POST)

    if days := asked_span(request.POST.get(HINDSIGHT, "")):
        return _hindsight(request, partition, read, days, back)
    return _answer(request, partition.cluster, read, back, "levels")


@require_POST
def task_types(request: HttpRequest, name: str) -> HttpResponse:
    """What the task types in the form would have met in the last week."""
    partition = get_object_or_404(visible_partitions(person(request)), name=name, revision__isnull=False)
    require_read(request, Permission.POLICY_VIEW, partition)
    require_write(request, Permission.POLICY_CHANGE, partition)
    context: dict[str, Any] = {"title": _("Task types on the last week's jobs")}
    try:
        types = typed_types(request.POST)
    except FormFaultsError as error:
        context["faults"] = error.lines
    else:
        context["trial"] = tried_on_last_week(partition.cluster, name, types)
    back = reverse("partition-policy", args=[name])
    return _shown(request, "history/_type_trial.html", context, back, TYPES)


@require_POST
def quotas(request: HttpRequest, name: str) -> HttpResponse:
    """What the quotas in the matrix would change."""
    partition = get_object_or_404(visible_partitions(person(request)), name=name, revision__isnull=False)
    require_read(request, Permission.POLICY_VIEW, partition)
    require_write(request, Permission.POLICY_CHANGE, partition)
    draft = asked_draft(request, partition)
    back = reverse("partition-quotas", args=[name], query={"of": draft.key} if draft else None)
    return _answer(
        request, partition.cluster, lambda: typed_quotas(partition, draft, request.POST), back, "quotas"
    )


@require_POST
def project(request: HttpRequest, code: str) -> HttpResponse:
    """What the project in the form would change."""
    found = get_object_or_404(visible_projects(person(request)), code=code)
    require_read(request, Permission.PROJECT_VIEW, found)
    require_write(request, Permission.PROJECT_CHANGE, found)
    back = reverse("project", args=[code])
    return _answer(
        request, found.cluster, lambda: typed_project(found.cluster, request.POST, code), back, "tasks"
    )


@require_POST
def new_project(request: HttpRequest) -> HttpResponse:
    """What a project that is not there yet would change: for who makes one, and who proposes one."""
    may_create = request.user.has_perm(Permission.PROJECT_CREATE)
    require_write(request, Permission.PROJECT_CREATE if may_create else Permission.PROJECT_PROPOSE)
    cluster = shown_cluster()
    read = typed_project if may_create else typed_proposal
    back = reverse("new-project" if may_create else "propose-project")
    return _answer(request, cluster, lambda: read(cluster, request.POST, None), back, "tasks")


@require_POST
def asked_urgency(request: HttpRequest, number: int) -> HttpResponse:
    """What allowing a manager's request would change, until an earlier deadline if the form says so."""
    found = get_object_or_404(visible_requests(person(request)), pk=number)
    require_write(request, Permission.REQUEST_DECIDE)
    back = reverse("project-request", args=[number])
    until = request.POST.get("until", "")
    return _answer(request, found.project.cluster, lambda: requested_project(found, until), back, "")


@require_POST
def priority_file(request: HttpRequest) -> HttpResponse:
    """What importing the proposed file would change."""
    require_import(request)
    cluster = shown_cluster()
    return _answer(request, cluster, lambda: _typed_file(cluster, request), reverse("priority-file"), "")


def _typed_file(cluster: Cluster, request: HttpRequest) -> HypotheticalChange:
    try:
        document: Any = parse(request.POST.get("document", "").encode())
        return file_change(cluster, document, allowed_to(person(request)))
    except InputError as error:
        raise FormFaultsError([str(error)]) from None
    except ValidationError as error:
        raise FormFaultsError(error.messages) from None


def _answer(request: HttpRequest, cluster: Cluster, read: Read, back: str, rows: str) -> HttpResponse:
    """The answer, or why there is none. `back`: the form's page; `rows`: a kind of rows that it has."""
    context: dict[str, Any] = {"to": request.path, "most": MOST_ROWS, "back": ""}
    days = days_asked(request.POST.get("days", ""))
    try:
        if days and takes_too_long(cluster, days):
            return _study(request, cluster, read(), days)
        context |= _past(cluster, read(), days) if days else _now(cluster, read())
    except FormFaultsError as error:
        context["faults"] = error.lines
    except NotNowError as error:
        context["not_now"] = str(error)
    context["title"] = _("What would change")
    return _shown(request, "history/_answer.html", context, back, rows)


def _hindsight(request: HttpRequest, partition: Partition, read: Read, days: int, back: str) -> HttpResponse:
    """The finished jobs of the last days with the policy that is typed: always a study."""
    context: dict[str, Any] = {"to": request.path, "title": _("What would change")}
    try:
        study = ask_hindsight(
            actor=person(request).username,
            partition=partition,
            policy=read().policies[partition.name],
            days=days,
            request_id=request_id(request),
        )
    except FormFaultsError as error:
        context["faults"] = error.lines
    except NotNowError as error:
        context["not_now"] = str(error)
    else:
        return _panel(request, study)
    return _shown(request, "history/_answer.html", context, back, "levels")


def _shown(request: HttpRequest, part: str, context: dict[str, Any], back: str, rows: str) -> HttpResponse:
    """A part beside the form; without script a page of its own, from which one goes back to all that was typed."""
    if wants_part(request):
        return render(request, part, context)
    kept = [
        (key, value) for key, values in request.POST.lists() for value in values if key not in NOT_CARRIED
    ]
    context |= {"part": part, "back": back, "kept": kept if rows else [], "keep_rows": f"{rows}:keep"}
    return render(request, "history/what_if.html", context)


def _now(cluster: Cluster, change: HypotheticalChange) -> dict[str, Any]:
    answer = what_if(cluster, change)
    return {
        "answer": answer,
        "told": [(each, sentences(each)) for each in answer.touched],
        "untouched": [each.partition for each in answer.partitions if each.nothing],
    }


def _past(cluster: Cluster, change: HypotheticalChange, days: int) -> dict[str, Any]:
    past = over_days_at_once(cluster, change, days)
    return {"past": past, "plots": plots_of(past)}


def _study(request: HttpRequest, cluster: Cluster, change: HypotheticalChange, days: int) -> HttpResponse:
    """Put to the worker: beside the form it is shown how far it is; without script on its own page."""
    study = ask(
        actor=person(request).username,
        cluster=cluster,
        change=change,
        days=days,
        request_id=request_id(request),
    )
    return _panel(request, study)


def _panel(request: HttpRequest, study: Study) -> HttpResponse:
    if wants_part(request):
        return render(request, "history/_study_panel.html", context_of(request, study))
    return redirect("study", pk=study.pk)
