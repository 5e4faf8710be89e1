"""Pages of the reports: whole histories, a project's levels and work, shadow, forecasts, a start asked for."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from urllib.parse import urlencode

from django import forms
from django.core.validators import MaxValueValidator, MinValueValidator
from django.http import Http404, HttpRequest, HttpResponse, QueryDict
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils.dateparse import parse_datetime
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_http_methods, require_safe

from console.accounts.access import person, require_read
from console.accounts.models import User
from console.accounts.permissions import Permission
from console.cluster.models import Cluster
from console.cluster.selectors import seen_nodes, shown_cluster
from console.core import clock
from console.core.fields import WholeField, within_time
from console.core.htmx import render_page
from console.core.l10n_format import amounts
from console.forecasts.quality import DAYS as FORECAST_DAYS
from console.forecasts.quality import forecast_quality
from console.partitions.selectors import policy_of, visible_partitions
from console.projects.models import Project
from console.projects.selectors import visible_projects
from console.reports.histories import History, HistorySpan, job_history, project_history
from console.reports.levels import project_levels
from console.reports.project_work import DAYS as WORK_DAYS
from console.reports.project_work import project_work
from console.reports.tally import DAYS as TALLY_DAYS
from console.reports.tally import MOST_PLANS, shadow_tally
from console.starts.expecting import MOST_OPEN, TooManyQuestionsError, ask
from console.starts.models import LEAST_JOBS, LEAST_STOPPED, ExpectedStart, StartQuestion
from console.starts.quality import start_quality, stop_quality
from console.steering.selectors import work_words
from scheduler.model.jobs import Request
from scheduler.model.resource_kinds import ACCELERATORS, accelerator_of

MB_PER_GB = 1024


def _between(least: int, most: int) -> list[MinValueValidator | MaxValueValidator]:
    return [MinValueValidator(least), MaxValueValidator(most)]


class WhenForm(forms.Form):
    """What the job would ask for; all amounts but the time are those of each node."""

    nodes = WholeField(label=gettext_lazy("Nodes"), initial=1, validators=_between(1, 10_000))
    cpu = WholeField(label=gettext_lazy("CPUs on each node"), initial=1, validators=_between(1, 100_000))
    gpu = WholeField(
        label=gettext_lazy("GPUs on each node"), initial=0, required=False, validators=_between(0, 10_000)
    )
    mem_gb = WholeField(
        label=gettext_lazy("Memory on each node"),
        unit=gettext_lazy("GB"),
        required=False,
        validators=_between(1, 1_000_000),
    )
    minutes = WholeField(
        label=gettext_lazy("Time limit"),
        unit=gettext_lazy("minutes"),
        initial=60,
        validators=_between(1, 527_040),
    )

    field_order = ("partition", "nodes", "cpu", "gpu", "mem_gb", "minutes")

    def __init__(
        self, names: Iterable[str], data: QueryDict | None = None, accelerator: str = ACCELERATORS[0]
    ) -> None:
        """`accelerator`: the kind that the cluster has."""
        super().__init__(data)
        self.accelerator = accelerator
        if accelerator == "npu":
            self.fields["gpu"].label = gettext_lazy("NPUs on each node")
        choices = [(name, name) for name in names]
        self.fields["partition"] = forms.ChoiceField(label=gettext_lazy("Partition"), choices=choices)
        self.order_fields(self.field_order)

    @property
    def request(self) -> Request:
        """Of a form that is valid."""
        sent = self.cleaned_data
        each = {
            "cpu": sent["cpu"],
            self.accelerator: sent["gpu"] or 0,
            "mem": (sent["mem_gb"] or 0) * MB_PER_GB,
        }
        return Request(
            nodes=sent["nodes"], per_node={name: amount for name, amount in each.items() if amount}
        )

    @property
    def time_limit_s(self) -> int:
        """Of a form that is valid."""
        minutes: int = self.cleaned_data["minutes"]
        return minutes * 60


@require_safe
def forecasts(request: HttpRequest) -> HttpResponse:
    """The last weeks: how near the forecasts were, what they promised and kept, and the models that were tried."""
    require_read(request, Permission.JOB_VIEW)
    cluster = shown_cluster()
    names = visible_partitions(person(request)).filter(cluster=cluster).values_list("name", flat=True)
    quality = forecast_quality(cluster, list(names))
    starts = start_quality(cluster, list(names))
    stops = stop_quality(cluster, list(names))
    least = {"least_jobs": LEAST_JOBS, "least_stopped": LEAST_STOPPED}
    context = {"quality": quality, "starts": starts, "stops": stops, "days": FORECAST_DAYS, **least}
    return render(request, "reports/forecasts.html", context)


EACH = 50
"""Things of each kind that a page shows at most; each may have a list of what it has changed."""


@require_safe
def whole_job_history(request: HttpRequest, job_id: str) -> HttpResponse:
    """What is kept of a job, also when Slurm has forgotten it."""
    history = job_history(request.user, shown_cluster(), job_id, _span(request))
    back, filters = reverse("job", args=[job_id]), urlencode({"job": job_id})
    return _page(request, history, title=_("Job %s") % job_id, back=back, filters=filters)


@require_safe
def whole_project_history(request: HttpRequest, code: str) -> HttpResponse:
    """Changes of a project, and what became of its jobs."""
    history = project_history(request.user, shown_cluster(), code, _span(request))
    back, filters = reverse("project", args=[code]), urlencode({"project": code})
    return _page(request, history, title=_("Project %s") % code, back=back, filters=filters)


def _page(
    request: HttpRequest, history: History | None, *, title: str, back: str, filters: str
) -> HttpResponse:
    if history is None:
        raise Http404(_("There is no such page, or it is not yours to see."))
    audit = request.user.has_perm(Permission.AUDIT_VIEW)
    context = {
        "history": history,
        "subject": title,
        "back": back if history.there else "",
        "in_log": f"{reverse('audit')}?{filters}" if audit else "",
        "sees_all": request.user.has_perm(Permission.AUDIT_VIEW_ALL),
    }
    return render(request, "reports/history.html", context)


def _span(request: HttpRequest) -> HistorySpan:
    return HistorySpan(until=_until(request), each=EACH)


def _until(request: HttpRequest) -> datetime | None:
    """`?until=` as the pages write it; the newest page for anything else."""
    try:
        until = parse_datetime(request.GET.get("until", ""))
        return within_time(until) if until is not None and until.tzinfo is not None else None
    except ValueError:
        return None


SPANS = (1, 3, 7)


@require_safe
def levels(request: HttpRequest, code: str) -> HttpResponse:
    """The levels of members and patterns in each partition."""
    found = _found(request, code)
    context = {"project": found, "standings": project_levels(found)}
    return render(request, "projects/project_levels.html", context)


@require_safe
def work(request: HttpRequest, code: str) -> HttpResponse:
    """What it ran, waited, lost and gained in the last days, `?days=1`, 3 or 7."""
    found = _found(request, code)
    text = request.GET.get("days", "")
    days = int(text) if text in {str(span) for span in SPANS} else WORK_DAYS
    done = project_work(found, days)
    shown = {
        "ran": done.ran,
        "lost": done.stopped.lost,
        "kept": done.stopped.kept,
        "others": done.others.lost,
    }
    context = {
        "project": found,
        "work": done,
        "spans": SPANS,
        "words": {name: work_words(each) for name, each in shown.items()},
    }
    return render(request, "projects/project_work.html", context)


def _found(request: HttpRequest, code: str) -> Project:
    found = get_object_or_404(visible_projects(person(request)), code=code)
    require_read(request, Permission.PROJECT_VIEW, found)
    return found


@require_safe
def shadow(request: HttpRequest, name: str) -> HttpResponse:
    """The tally of the plans made in shadow."""
    rows = visible_partitions(person(request)).filter(revision__isnull=False)
    partition = get_object_or_404(rows, name=name)
    require_read(request, Permission.PLAN_VIEW)
    context = {
        "partition": partition,
        "policy": policy_of(partition),
        "tab": "shadow",
        "tally": shadow_tally(partition),
        "days": TALLY_DAYS,
        "most": MOST_PLANS,
        "may_see_policy": request.user.has_perm(Permission.POLICY_VIEW, partition),
        "may_change": request.user.has_perm(Permission.POLICY_CHANGE, partition),
    }
    return render(request, "reports/shadow.html", context)


SHOWN_FOR = timedelta(hours=1)
MOST_SHOWN = 10


@dataclass(frozen=True, slots=True)
class AskedStart:
    """A question with its answer, in the form in which pages tell starts."""

    question: StartQuestion
    start: ExpectedStart
    asks: str


@require_http_methods(["GET", "HEAD", "POST"])
def when(request: HttpRequest) -> HttpResponse:
    """Ask for one's own user; the answers of the last hour stand below."""
    require_read(request, Permission.JOB_VIEW)
    cluster, asker = shown_cluster(), person(request)
    names = list(visible_partitions(asker).filter(cluster=cluster).values_list("name", flat=True))
    accelerator = accelerator_of(node.total for node in seen_nodes(cluster))
    form = WhenForm(names, request.POST if request.method == "POST" else None, accelerator)
    if request.method == "POST" and form.is_valid() and _ask(form, cluster, asker):
        return redirect("when")
    asked = _asked(cluster, asker)
    context = {
        "form": form,
        "asked": asked,
        "waits": any(each.question.answered_at is None for each in asked),
    }
    return render_page(request, "reports/when.html", context)


def _ask(form: WhenForm, cluster: Cluster, asker: User) -> bool:
    """Whether it was asked; if not, the form says why."""
    try:
        ask(
            cluster=cluster,
            person=asker,
            partition=form.cleaned_data["partition"],
            account="",
            request=form.request,
            time_limit_s=form.time_limit_s,
        )
    except TooManyQuestionsError:
        text = _("%(n)s of your questions wait for an answer. Ask again in a minute.")
        form.add_error(None, text % {"n": MOST_OPEN})
        return False
    return True


def _asked(cluster: Cluster, asker: User) -> list[AskedStart]:
    rows = StartQuestion.objects.filter(
        cluster=cluster, asked_by=asker, asked_at__gte=clock.now() - SHOWN_FOR
    ).order_by("-pk")[:MOST_SHOWN]
    return [
        AskedStart(row, ExpectedStart(p50=row.p50, low=row.low, high=row.high), _asks(row.request))
        for row in rows
    ]


def _asks(request: dict[str, object]) -> str:
    each = amounts(request.get("per_node") or request.get("spread") or {})  # type: ignore[arg-type]
    nodes = request.get("nodes")
    return f"{nodes} × ({each})" if isinstance(nodes, int) and nodes > 1 else each
