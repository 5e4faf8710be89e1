"""A partition's quotas: the matrix of limits, who uses how much of them now, and how far they were used."""

from typing import Any

from django.contrib import messages
from django.core.exceptions import ValidationError
from django.core.paginator import Page, Paginator
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.translation import get_language
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods

from console.accounts.access import require_write, told
from console.accounts.permissions import Permission
from console.core.concurrent_changes import ChangedSinceError
from console.core.fields import add_errors
from console.core.htmx import invalid_form_status, part_name, render_page
from console.core.lazy import lazy
from console.core.rows import BUTTON
from console.overview.quota_plots import quota_times_context
from console.partitions.drafts import Content, change_draft, create_draft
from console.partitions.models import Partition, PolicyDraft
from console.partitions.quota_form import QuotaForm, quota_form, quota_initial
from console.partitions.quotas import Use, all_uses, limits_of
from console.partitions.selectors import decoded, missed_revisions, policy_in_force, policy_of
from console.partitions.services import activate_policy
from console.partitions.views.drafts import asked_draft
from console.partitions.views.policy import AS_DRAFT, head, moved, readable_partition

PAGE = "partitions/quotas.html"
TIMES = "quota-times"
USES_PER_PAGE = 50


@require_http_methods(["GET", "HEAD", "POST"])
def quotas(request: HttpRequest, name: str) -> HttpResponse:
    """The page; saving puts the quotas in force as the policy's next revision, or keeps them as a draft.

    `?of=draft-3`: the quotas of that draft, and saving changes the draft.
    """
    partition = readable_partition(request, name)
    draft = asked_draft(request, partition)
    if request.method == "POST":
        require_write(request, Permission.POLICY_CHANGE, partition)
        return _take(request, partition, draft)
    if draft:
        values = {**quota_initial(decoded(draft.document)), "based_on": draft.version}
        return _show(request, partition, draft, quota_form(partition, draft, initial=values))
    values = {**quota_initial(policy_of(partition)), "based_on": policy_in_force(partition).number}
    return _show(request, partition, None, quota_form(partition, initial=values))


def _take(request: HttpRequest, partition: Partition, draft: PolicyDraft | None) -> HttpResponse:
    """Save, or come back from a page where it was only tried, with what was typed."""
    if BUTTON in request.POST:
        return _show(request, partition, draft, quota_form(partition, draft, initial=request.POST.dict()))
    form = quota_form(partition, draft, data=request.POST)
    to = ""
    if form.is_valid():
        to = _saved_draft(request, draft, form) if draft else _saved(request, partition, form)
    return moved(request, to) if to else _show(request, partition, draft, form, invalid=True)


def _saved_draft(request: HttpRequest, draft: PolicyDraft, form: QuotaForm) -> str:
    """As `_saved`, of a draft."""
    content = Content(draft.name, form.document())
    version = form.cleaned_data["based_on"] or 0
    try:
        change_draft(draft=draft, content=content, version=version, **told(request, form))
    except ChangedSinceError as error:
        form.add_error(None, error.for_people)
    except ValidationError as error:
        add_errors(form, error.message_dict.items())
    else:
        messages.success(request, _("The draft is saved; nothing is in force."))
        return request.get_full_path()
    return ""


def _saved(request: HttpRequest, partition: Partition, form: QuotaForm) -> str:
    """Where to go on; empty when nothing was saved, the reasons being in the form by then."""
    by: dict[str, Any] = told(request, form) | {"partition": partition}
    based_on = form.cleaned_data["based_on"] or 0
    try:
        _check_levels(partition, based_on)
        if AS_DRAFT in request.POST:
            draft = create_draft(content=Content(form.cleaned_data["draft_name"], form.document()), **by)
            messages.success(
                request, _("The draft “%(name)s” is saved; nothing is in force.") % {"name": draft.name}
            )
            return reverse("partition-draft", args=[partition.name, draft.pk])
        activate_policy(document=form.document(), based_on=based_on, **by)
    except ChangedSinceError as error:
        form.add_error(None, error.for_people)
    except ValidationError as error:
        add_errors(form, error.message_dict.items())
    else:
        messages.success(request, _("The quotas of %(name)s are in force.") % {"name": partition.name})
        return reverse("partition-quotas", args=[partition.name])
    return ""


def _check_levels(partition: Partition, based_on: int) -> None:
    """The cells are about the levels of the revision that the person had read, by rank."""
    current = policy_in_force(partition).number
    if based_on != current:
        what = _("policy of partition %(name)s") % {"name": partition.name}
        missed = missed_revisions(partition, based_on)
        raise ChangedSinceError(what, seen=based_on, current=current, missed=missed)


def _show(
    request: HttpRequest,
    partition: Partition,
    draft: PolicyDraft | None,
    form: QuotaForm,
    *,
    invalid: bool = False,
) -> HttpResponse:
    context = head(request, partition) | {"tab": "quotas", "draft": draft, "form": form, "invalid": invalid}
    context["of"] = f"?of={draft.key}" if draft else ""
    if draft is None:
        context |= _use(request, partition)
    return render_page(request, PAGE, context, status=invalid_form_status(request) if invalid else 200)


def _use(request: HttpRequest, partition: Partition) -> dict[str, Any]:
    """What the page says of the use of what is in force, now and over time."""
    policy = policy_of(partition)
    user = request.GET.get("user", "").strip()
    query = request.GET.urlencode()
    seen = (partition.pk, partition.cluster.version, partition.revision_id)
    uses = lazy(all_uses, partition, policy)
    context = {
        "limited": bool(limits_of(policy)),
        # The same for all who see the quotas: what the template makes of it is kept by this.
        "use_looks_like": f"{seen} {get_language()} {query}",
        "page": lazy(lambda: _page(uses(), user, request.GET.get("page"))),
        "uses": lazy(lambda: len(uses())),
        "user_sought": user,
        "target": "quota-use",
        "query": query,
    }
    if part_name(request, PAGE) in {None, TIMES}:
        asked = (request.GET.get(name, "") for name in ("level", "span"))
        context |= quota_times_context(partition, policy, *asked)
    return context


def _page(uses: list[Use], user: str, number: str | None) -> Page[Use]:
    """Who uses how much now: the page that is asked for."""
    found = [use for use in uses if user.casefold() in use.user.casefold()] if user else uses
    return Paginator(found, USES_PER_PAGE).get_page(number)
