"""A partition's policy: its form, the step to enforcement, and its revisions and drafts."""

from typing import Any

from django.contrib import messages
from django.core.exceptions import ValidationError
from django.core.paginator import Paginator
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_safe
from django_htmx.http import HttpResponseClientRedirect

from console.accounts.access import person, require_read, require_write, told
from console.accounts.permissions import Permission
from console.accounts.rules import is_administrator
from console.core.concurrent_changes import ChangedSinceError
from console.core.diff import differences
from console.core.fields import add_errors
from console.core.htmx import invalid_form_status, render_page, wants_part
from console.core.rows import BUTTON, Rows, rearranged, typed_form, typed_rows
from console.partitions.documents import checked_policy
from console.partitions.drafts import Content, create_draft
from console.partitions.forms import ROW_FORMS, PolicyForm, make_rows, policy_initial
from console.partitions.models import Partition
from console.partitions.sections import FIRST, sections_of
from console.partitions.selectors import policy_in_force, policy_of, visible_partitions, written_out
from console.partitions.services import activate_policy, set_admins
from scheduler.model.policy import Enforcement, PartitionPolicy

PAGE = "partitions/policy.html"
CONFIRMED = "confirmed"
BACK = "back"
AS_DRAFT = "save_draft"
REVISIONS_PER_PAGE = 25


def readable_partition(request: HttpRequest, name: str) -> Partition:
    """The partition, if this person may read its policy."""
    partition = get_object_or_404(visible_partitions(person(request)), name=name, revision__isnull=False)
    require_read(request, Permission.POLICY_VIEW, partition)
    return partition


@require_http_methods(["GET", "HEAD", "POST"])
def policy(request: HttpRequest, name: str) -> HttpResponse:
    """The policy's form; without buttons for those who may only read it."""
    partition = readable_partition(request, name)
    if request.method == "POST":
        require_write(request, Permission.POLICY_CHANGE, partition)
        return _take(request, partition)
    values, rows = policy_initial(policy_of(partition))
    values["based_on"] = policy_in_force(partition).number
    values["admins"] = [admin.username for admin in partition.admins.all()]
    return _show(request, partition, _form(request, initial=values), make_rows(initial=rows))


def _form(request: HttpRequest, **kwargs: Any) -> PolicyForm:
    """The form; only an administrator names the administrators of a partition."""
    form = PolicyForm(**kwargs)
    if not is_administrator(request.user):
        del form.fields["admins"]
    return form


def _take(request: HttpRequest, partition: Partition) -> HttpResponse:
    """Rearrange the rows, go back from the confirmation, ask for it, or save."""
    rows = rearranged(request.POST, ROW_FORMS)
    if rows is None and BACK in request.POST:
        rows = {prefix: typed_rows(request.POST, prefix, each) for prefix, each in ROW_FORMS.items()}
    if rows is not None:
        form = _form(request, initial=typed_form(request.POST, PolicyForm))
        return _show(request, partition, form, make_rows(initial=rows))
    form, bound = _form(request, data=request.POST), make_rows(data=request.POST)
    wanted = None
    if all([form.is_valid(), *(each.is_valid() for each in bound.values())]):
        wanted = checked_policy(partition.name, form, bound)
    if wanted and AS_DRAFT in request.POST:
        to = _save_draft(request, partition, form, wanted)
        if to:
            return moved(request, to)
        return _show(request, partition, form, bound, invalid=True)
    if wanted and needs_confirmation(request, partition, wanted):
        return _confirm(request, partition, wanted)
    if wanted and _save(request, partition, form, wanted):
        messages.success(request, _("The policy of %(name)s is in force.") % {"name": partition.name})
        return moved(request, reverse("partition-policy", args=[partition.name]))
    return _show(request, partition, form, bound, invalid=True)


def moved(request: HttpRequest, to: str) -> HttpResponse:
    """To another page, with htmx or without."""
    return HttpResponseClientRedirect(to) if wants_part(request) else redirect(to)


def needs_confirmation(request: HttpRequest, partition: Partition, wanted: PartitionPolicy) -> bool:
    """Going to enforcement is a step of its own: from then on running jobs are stopped."""
    goes = wanted.enforcement is Enforcement.ENFORCE
    already = policy_of(partition).enforcement is Enforcement.ENFORCE
    return goes and not already and request.POST.get(CONFIRMED) != Enforcement.ENFORCE


def _confirm(request: HttpRequest, partition: Partition, wanted: PartitionPolicy) -> HttpResponse:
    """Repeat in words what will follow, the form's values carried along unseen."""
    kept = [
        (key, value)
        for key, values in request.POST.lists()
        if key not in {"csrfmiddlewaretoken", CONFIRMED}
        for value in values
    ]
    context = head(request, partition) | {"confirm": wanted, "kept": kept, "reason": request.POST["reason"]}
    return render_page(request, PAGE, context)


def _save_draft(request: HttpRequest, partition: Partition, form: PolicyForm, wanted: PartitionPolicy) -> str:
    """Where the new draft is to be seen; empty when there is none, the reason being in the form by then."""
    content = Content(form.cleaned_data["draft_name"], wanted)
    try:
        draft = create_draft(partition=partition, content=content, **told(request, form))
    except ValidationError as error:
        add_errors(form, error.message_dict.items())
        return ""
    messages.success(request, _("The draft “%(name)s” is saved; nothing is in force.") % {"name": draft.name})
    return reverse("partition-draft", args=[partition.name, draft.pk])


def _save(request: HttpRequest, partition: Partition, form: PolicyForm, wanted: PartitionPolicy) -> bool:
    """Whether it was put in force; if not, the service's reasons are in the form by then."""
    by = told(request, form)
    try:
        with transaction.atomic():
            based_on = form.cleaned_data["based_on"] or 0
            activate_policy(partition=partition, document=wanted, based_on=based_on, **by)
            if "admins" in form.fields:
                set_admins(partition=partition, usernames=form.cleaned_data["admins"], **by)
    except ChangedSinceError as error:
        form.add_error(None, error.for_people)
    except ValidationError as error:
        add_errors(form, error.message_dict.items())
    else:
        return True
    return False


def head(request: HttpRequest, partition: Partition) -> dict[str, Any]:
    """What the top of every page about a policy shows."""
    return {
        "partition": partition,
        "policy": policy_of(partition),
        "revision": policy_in_force(partition),
        "may_see_policy": True,
        "may_change": request.user.has_perm(Permission.POLICY_CHANGE, partition),
    }


def in_sections(
    request: HttpRequest, policy: PartitionPolicy, form: PolicyForm, rows: dict[str, Rows]
) -> dict[str, Any]:
    """The form in sections, and whether it holds what somebody has typed and not saved."""
    sections = sections_of(policy, form, rows, request.POST.get(BUTTON, ""))
    return {
        "first": FIRST,
        "sections": sections,
        "differ": sum(each.differ for each in sections),
        "typed": request.method == "POST",
    }


def _show(
    request: HttpRequest,
    partition: Partition,
    form: PolicyForm,
    rows: dict[str, Rows],
    *,
    invalid: bool = False,
) -> HttpResponse:
    context = head(request, partition) | {"tab": "policy", "form": form, "rows": rows, "invalid": invalid}
    context |= in_sections(request, policy_of(partition), form, rows)
    return render_page(request, PAGE, context, status=invalid_form_status(request) if invalid else 200)


@require_safe
def revisions(request: HttpRequest, name: str) -> HttpResponse:
    """All revisions of the policy, the newest first, each with what it changed."""
    partition = readable_partition(request, name)
    page = Paginator(partition.revisions.all(), REVISIONS_PER_PAGE).get_page(request.GET.get("page"))
    shown = list(page)
    before = partition.revisions.filter(number__lt=shown[-1].number).first()
    older = [*shown[1:], before]
    steps = [
        (row, differences(written_out(previous.document), written_out(row.document)) if previous else None)
        for row, previous in zip(shown, older, strict=True)
    ]
    context = head(request, partition) | {"tab": "revisions", "page": page, "steps": steps, "target": ""}
    context["drafts"] = partition.drafts.all()
    return render(request, "partitions/revisions.html", context)
