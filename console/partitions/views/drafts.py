"""A draft of a policy: its form, and throwing it away."""

from typing import Any

from django.contrib import messages
from django.core.exceptions import ValidationError
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods

from console.accounts.access import require_write, told
from console.accounts.permissions import Permission
from console.core.concurrent_changes import ChangedSinceError
from console.core.fields import add_errors
from console.core.htmx import invalid_form_status, render_page
from console.core.rows import Rows, rearranged, typed_form
from console.partitions.comparing import side
from console.partitions.documents import checked_policy
from console.partitions.drafts import Content, change_draft, delete_draft
from console.partitions.forms import ROW_FORMS, DeleteDraftForm, PolicyForm, make_rows, policy_initial
from console.partitions.models import Partition, PolicyDraft
from console.partitions.selectors import decoded
from console.partitions.views.policy import PAGE, head, in_sections, moved, readable_partition
from scheduler.model.policy import PartitionPolicy


def _draft(request: HttpRequest, name: str, pk: int) -> PolicyDraft:
    partition = readable_partition(request, name)
    found = get_object_or_404(partition.drafts, pk=pk)
    found.partition = partition
    return found


def asked_draft(request: HttpRequest, partition: Partition) -> PolicyDraft | None:
    """The draft that `?of=draft-3` of an address about the policy means; None: it is about what is in force."""
    key = request.GET.get("of", "")
    if not key:
        return None
    found = side(partition, key)
    if found is None or found.draft is None:
        raise Http404(_("There is no such revision or draft."))
    found.draft.partition = partition
    return found.draft


def _form(**kwargs: Any) -> PolicyForm:
    """Who administers the partition is no part of a policy."""
    form = PolicyForm(**kwargs)
    del form.fields["admins"]
    form.fields["draft_name"].required = True
    return form


@require_http_methods(["GET", "HEAD", "POST"])
def draft(request: HttpRequest, name: str, pk: int) -> HttpResponse:
    """The draft's form; saving it changes the draft and nothing else."""
    found = _draft(request, name, pk)
    if request.method == "POST":
        require_write(request, Permission.POLICY_CHANGE, found.partition)
        return _take(request, found)
    values, rows = policy_initial(decoded(found.document))
    values |= {"based_on": found.version, "draft_name": found.name}
    return _show(request, found, _form(initial=values), make_rows(initial=rows))


def _take(request: HttpRequest, found: PolicyDraft) -> HttpResponse:
    rows = rearranged(request.POST, ROW_FORMS)
    if rows is not None:
        form = _form(initial=typed_form(request.POST, PolicyForm))
        return _show(request, found, form, make_rows(initial=rows))
    form, bound = _form(data=request.POST), make_rows(data=request.POST)
    wanted = None
    if all([form.is_valid(), *(each.is_valid() for each in bound.values())]):
        wanted = checked_policy(found.partition.name, form, bound)
    if wanted and _save(request, found, form, wanted):
        messages.success(request, _("The draft is saved; nothing is in force."))
        return moved(request, request.path)
    return _show(request, found, form, bound, invalid=True)


def _save(request: HttpRequest, found: PolicyDraft, form: PolicyForm, wanted: PartitionPolicy) -> bool:
    """Whether it was saved; if not, the reasons are in the form by then."""
    content = Content(form.cleaned_data["draft_name"], wanted)
    version = form.cleaned_data["based_on"] or 0
    try:
        change_draft(draft=found, content=content, version=version, **told(request, form))
    except ChangedSinceError as error:
        form.add_error(None, error.for_people)
    except ValidationError as error:
        add_errors(form, error.message_dict.items())
    else:
        return True
    return False


@require_http_methods(["POST"])
def delete(request: HttpRequest, name: str, pk: int) -> HttpResponse:
    """Throw a draft away."""
    found = _draft(request, name, pk)
    require_write(request, Permission.POLICY_CHANGE, found.partition)
    form = DeleteDraftForm(request.POST)
    to = redirect("partition-draft", found.partition.name, found.pk)
    if not form.is_valid():
        messages.error(request, _("Say why the draft is to go; it stands in the audit log."))
        return to
    try:
        delete_draft(draft=found, version=form.cleaned_data["version"], **told(request, form))
    except ChangedSinceError as error:
        messages.error(request, error.for_people)
        return to
    messages.success(request, _("The draft “%(name)s” is deleted.") % {"name": found.name})
    return redirect("partition-revisions", found.partition.name)


def _show(
    request: HttpRequest,
    found: PolicyDraft,
    form: PolicyForm,
    rows: dict[str, Rows],
    *,
    invalid: bool = False,
) -> HttpResponse:
    context = head(request, found.partition) | {
        "tab": "revisions",
        "draft": found,
        "form": form,
        "rows": rows,
        "invalid": invalid,
        "delete_form": DeleteDraftForm(initial={"version": found.version}, auto_id="delete-%s"),
    }
    context |= in_sections(request, decoded(found.document), form, rows)
    return render_page(request, PAGE, context, status=invalid_form_status(request) if invalid else 200)
