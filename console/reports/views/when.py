"""When would a job start that nobody has submitted? Asked here, answered by the next look at the queue."""

from dataclasses import dataclass
from datetime import timedelta

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods

from console.accounts.access import person, require_read
from console.accounts.models import User
from console.accounts.permissions import Permission
from console.cluster.models import Cluster
from console.cluster.selectors import seen_nodes, shown_cluster
from console.core import clock
from console.core.htmx import render_page
from console.core.l10n_format import amounts
from console.partitions.selectors import visible_partitions
from console.reports.when_form import WhenForm
from console.starts.answering import MOST_OPEN, TooManyQuestionsError, ask
from console.starts.models import ExpectedStart, StartQuestion
from scheduler.model.resource_kinds import accelerator_of

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
