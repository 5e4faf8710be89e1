"""A partition's quotas: the matrix of limits, who uses how much of them now, and how far they were used."""

from typing import Any

from django.core.paginator import Page, Paginator
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.translation import get_language
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods

from console.accounts.access import require_write
from console.accounts.audited_form import Saved, audited_form
from console.accounts.permissions import Permission
from console.core.errors import ChangedSinceError
from console.core.htmx import part_name, render_page
from console.core.lazy import lazy
from console.core.rows import BUTTON
from console.overview.quota_plots import quota_times_context
from console.partitions.drafts import Content
from console.partitions.models import Partition
from console.partitions.quota_form import QuotaForm, quota_form, quota_initial
from console.partitions.quotas import Use, limits_of, uses_shown
from console.partitions.selectors import decoded, missed_revisions, policy_in_force, policy_of
from console.partitions.services import activate_policy
from console.partitions.views import (
    AS_DRAFT,
    asked_draft,
    head,
    readable_partition,
    save_draft,
    save_new_draft,
)
from scheduler.model.policy import PartitionPolicy

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

    def make(**kwargs: Any) -> QuotaForm:
        return quota_form(partition, draft, **kwargs)

    def save(form: QuotaForm, _rows: object, by: dict[str, str]) -> Saved:
        if draft:
            return save_draft(request, draft, form, Content(draft.name, form.document()), by)
        based_on = form.cleaned_data["based_on"] or 0
        _check_levels(partition, based_on)
        if AS_DRAFT in request.POST:
            return save_new_draft(partition, form, form.document(), by)
        activate_policy(partition=partition, document=form.document(), based_on=based_on, **by)
        words = _("The quotas of %(name)s are in force.") % {"name": partition.name}
        return Saved(reverse("partition-quotas", args=[partition.name]), words)

    def show(form: QuotaForm, _rows: object = None, *, invalid: bool = False) -> HttpResponse:
        context = head(request, partition) | {"tab": "quotas", "draft": draft, "form": form}
        context |= {"of": f"?of={draft.key}"} if draft else {"of": "", **_use(request, partition)}
        return render_page(request, PAGE, context, invalid=invalid)

    if request.method == "POST":
        require_write(request, Permission.POLICY_CHANGE, partition)
        return audited_form(request, make, save, show, back=BUTTON)  # from a page where it was only tried
    policy = decoded(draft.document) if draft else policy_of(partition)
    based_on = draft.version if draft else policy_in_force(partition).number
    return show(make(initial={**quota_initial(policy), "based_on": based_on}))


def _check_levels(partition: Partition, based_on: int) -> None:
    """The cells are about the levels of the revision that the person had read, by rank."""
    current = policy_in_force(partition).number
    if based_on != current:
        what = _("policy of partition %(name)s") % {"name": partition.name}
        missed = missed_revisions(partition, based_on)
        raise ChangedSinceError(what, seen=based_on, current=current, missed=missed)


def _use(request: HttpRequest, partition: Partition) -> dict[str, Any]:
    """What the page says of the use of what is in force, now and over time."""
    policy = policy_of(partition)
    user = request.GET.get("user", "").strip()
    query = request.GET.urlencode()
    seen = (partition.pk, partition.cluster.version, partition.revision_id)
    context = {
        "limited": bool(limits_of(policy)),
        # The same for all who see the quotas: what the template makes of it is kept by this.
        "use_looks_like": f"{seen} {get_language()} {query}",
        "page": lazy(_page, partition, policy, user, request.GET.get("page")),
        "uses": lazy(lambda: len(uses_shown(partition, policy))),
        "user_sought": user,
        "target": "quota-use",
        "query": query,
    }
    if part_name(request, PAGE) in {None, TIMES}:
        asked = (request.GET.get(name, "") for name in ("level", "span"))
        context |= quota_times_context(partition, policy, *asked)
    return context


def _page(partition: Partition, policy: PartitionPolicy, user: str, number: str | None) -> Page[Use]:
    """Who uses how much now: the page that is asked for."""
    uses = uses_shown(partition, policy)
    found = [use for use in uses if user.casefold() in use.user.casefold()] if user else uses
    return Paginator(found, USES_PER_PAGE).get_page(number)
