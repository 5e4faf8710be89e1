"""The only place that knows what a partial request is, and which parts of which page may be asked for.

A page and its parts have the same address, view and context. A part is a `{% partialdef %}` of the page's template;
its name is the id of the element that it replaces, which htmx sends as HX-Target. The client never names a part
freely: what is not in `PARTS` gets the whole page.
"""

import json
from collections.abc import Mapping
from typing import Any

from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import render
from django_htmx.middleware import HtmxDetails

PARTS: dict[str, frozenset[str]] = {
    "overview/overview.html": frozenset({"partition-cards"}),
    "overview/partition.html": frozenset({"partition-now"}),
    "overview/jobs.html": frozenset({"job-list"}),
    "overview/job.html": frozenset({"job-story"}),
    "overview/node.html": frozenset({"node-now"}),
    "overview/user.html": frozenset({"user-now"}),
    "overview/mine.html": frozenset({"my-jobs"}),
    "steering/plans.html": frozenset({"plan-list"}),
    "steering/plan.html": frozenset({"plan-progress"}),
    "steering/approvals.html": frozenset({"approval-list"}),
    "partitions/policy.html": frozenset({"policy-form"}),
    "partitions/quotas.html": frozenset({"quota-form", "quota-use", "quota-times"}),
    "reports/when.html": frozenset({"when-answers"}),
    "history/study.html": frozenset({"study-now"}),
    "projects/project_list.html": frozenset({"project-list"}),
    "projects/project_form.html": frozenset({"project-form"}),
    "projects/proposal.html": frozenset({"project-form"}),
    "setup/import.html": frozenset({"levels-preview"}),
    "audit/log.html": frozenset({"audit-rows"}),
}
"""The allow-list: template -> parts of it that may be asked for by HX-Target."""

NO_CONTENT = 204
UNPROCESSABLE = 422
STOP_POLLING = 286
"""htmx swaps the answer in and polls no more."""


def details(request: HttpRequest) -> HtmxDetails:
    """What htmx says of itself in this request."""
    found: HtmxDetails = request.htmx  # type: ignore[attr-defined]
    return found


def wants_part(request: HttpRequest) -> bool:
    """Whether htmx asked for a part: not for a boosted page, and not to restore a page of the history."""
    htmx = details(request)
    return bool(htmx) and not htmx.boosted and not htmx.history_restore_request


def part_name(request: HttpRequest, template: str) -> str | None:
    """The part of `template` that this request asks for and may have."""
    target = details(request).target if wants_part(request) else None
    return target if target in PARTS.get(template, frozenset()) else None


def render_page(
    request: HttpRequest,
    template: str,
    context: Mapping[str, Any],
    *,
    status: int = 200,
    invalid: bool = False,
) -> HttpResponse:
    """The page, or only the part of it that htmx asked for.

    `invalid`: with a form that is not right as it was sent, which is 422 for htmx (`responseHandling`), 200 without.
    """
    part = part_name(request, template)
    name = f"{template}#{part}" if part else template
    told = {"invalid": invalid, **context, "is_part": part is not None}
    return render(request, name, told, status=UNPROCESSABLE if invalid and wants_part(request) else status)


def without_version(asked: QueryDict) -> str:
    """The parameters of an address but for a poll's version, as text: what a page that is asked for hangs on."""
    kept = asked.copy()
    kept.pop("since", None)
    return kept.urlencode()


def unchanged(request: HttpRequest, version: int, observed: Mapping[str, Any]) -> HttpResponse | None:
    """The answer to a poll (`?since=<version>`) when nothing shown has changed: 204, which swaps nothing.

    `observed` (when and in which cycle the cluster was last seen) goes along as an event, so that the page can tell
    a calm cluster from a dead one.
    """
    if not wants_part(request) or request.GET.get("since") != str(version):
        return None
    response = HttpResponse(status=NO_CONTENT)
    response["HX-Trigger"] = json.dumps({"giveway:observed": dict(observed)})
    return response
