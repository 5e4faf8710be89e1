"""The panel "what would change" of the forms: a part for htmx, a page of its own without script. Nothing is saved.

A question that takes longer than a request becomes a study (`study_views`).
"""

from collections.abc import Callable
from typing import Any

from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST

from console.accounts.access import person, request_id, require_read, require_write
from console.accounts.permissions import Permission
from console.cluster.models import Cluster
from console.cluster.selectors import shown_cluster
from console.core.htmx import wants_part
from console.history.bar import NOW, PAST, in_bar
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
from console.history.hindsight.asking import ask_hindsight, asked_span
from console.history.models import Study
from console.history.past import days_asked, over_days_at_once
from console.history.studies import ask, takes_too_long
from console.history.study_views import context_of
from console.history.type_trial import tried_on_last_week
from console.history.what_if import NotNowError, what_if
from console.history.wording import plots_of, sentences
from console.partitions.forms import TYPES
from console.partitions.models import Partition
from console.partitions.priority_file import allowed_to, require_import
from console.partitions.selectors import visible_partitions
from console.partitions.views import asked_draft
from console.projects.selectors import visible_projects, visible_requests
from scheduler.contracts.errors import InputError
from scheduler.contracts.jsontext import parse

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
