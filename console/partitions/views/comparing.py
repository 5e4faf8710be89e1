"""Two states of a policy beside each other, and from there the step that puts one of them in force."""

from typing import Any

from django.contrib import messages
from django.core.exceptions import ValidationError
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_safe

from console.accounts.access import require_write, told
from console.accounts.permissions import Permission
from console.core.concurrent_changes import ChangedSinceError
from console.core.fields import add_errors
from console.partitions.comparing import IN_FORCE, ComparedVersion, in_words, side, side_by_side
from console.partitions.drafts import activate_draft, roll_back
from console.partitions.forms import ActivateForm
from console.partitions.models import Partition
from console.partitions.selectors import decoded, policy_in_force
from console.partitions.views.policy import head, needs_confirmation, readable_partition
from scheduler.contracts.errors import InputError
from scheduler.model.policy import Enforcement, PartitionPolicy

PAGE = "partitions/compare.html"
MOST_LISTED = 200


@require_safe
def compare(request: HttpRequest, name: str) -> HttpResponse:
    """Any two of the revisions and drafts, in words and side by side."""
    partition = readable_partition(request, name)
    left, right = _side(partition, request.GET.get("from")), _side(partition, request.GET.get("to"))
    return _show(request, partition, left, right, _fresh_form(partition, right))


@require_http_methods(["POST"])
def activate(request: HttpRequest, name: str) -> HttpResponse:
    """Put the draft or the earlier revision that was compared in force."""
    partition = readable_partition(request, name)
    require_write(request, Permission.POLICY_CHANGE, partition)
    left, right = _side(partition, IN_FORCE), _side(partition, request.POST.get("to"))
    form = ActivateForm(request.POST)
    wanted = _policy(right)
    if wanted is None:
        form.add_error(None, _("It cannot be read any more; nothing was changed."))
    elif form.is_valid() and needs_confirmation(request, partition, wanted):
        form.add_error(None, _("This goes to enforcement; confirm that with its own button."))
    elif form.is_valid() and _activate(request, partition, right, form):
        messages.success(request, _("The policy of %(name)s is in force.") % {"name": partition.name})
        return redirect("partition-revisions", partition.name)
    return _show(request, partition, left, right, form)


def _activate(request: HttpRequest, partition: Partition, to: ComparedVersion, form: ActivateForm) -> bool:
    """Whether it is in force; if not, the reason is in the form by then."""
    by = told(request, form) | {"based_on": form.cleaned_data["based_on"]}
    try:
        if to.draft:
            to.draft.partition = partition
            activate_draft(draft=to.draft, version=form.cleaned_data["version"] or 0, **by)
        elif to.revision:
            roll_back(partition=partition, number=to.revision.number, **by)
    except ChangedSinceError as error:
        form.add_error(None, error.for_people)
    except ValidationError as error:
        add_errors(form, error.message_dict.items())
    else:
        return True
    return False


def _side(partition: Partition, key: str | None) -> ComparedVersion:
    found = side(partition, key or IN_FORCE)
    if found is None:
        raise Http404(_("There is no such revision or draft."))
    return found


def _policy(of: ComparedVersion) -> PartitionPolicy | None:
    """The policy itself; None when it is too old to be read."""
    try:
        return decoded(of.document)
    except InputError:
        return None


def _fresh_form(partition: Partition, right: ComparedVersion) -> ActivateForm:
    return ActivateForm(
        initial={
            "to": right.key,
            "based_on": policy_in_force(partition).number,
            "version": right.draft.version if right.draft else None,
        }
    )


def _show(
    request: HttpRequest,
    partition: Partition,
    left: ComparedVersion,
    right: ComparedVersion,
    form: ActivateForm,
) -> HttpResponse:
    context: dict[str, Any] = head(request, partition)
    wanted, now = _policy(right), context["policy"]
    right_is_in_force = right.revision is not None and right.revision.pk == partition.revision_id
    left_is_in_force = left.revision is not None and left.revision.pk == partition.revision_id
    changes = in_words(left, right)
    goes = wanted and wanted.enforcement is Enforcement.ENFORCE and now.enforcement is not Enforcement.ENFORCE
    context |= {
        "tab": "revisions",
        "left": left,
        "right": right,
        "changes": changes,
        "lines": side_by_side(left, right),
        "form": form,
        "may_activate": context["may_change"]
        and left_is_in_force
        and not right_is_in_force
        and bool(changes or form.errors)
        and wanted is not None,
        "confirm": wanted if goes else None,
        "stale": right.draft is not None and right.draft.based_on != policy_in_force(partition).number,
        "drafts": partition.drafts.all(),
        "revisions": partition.revisions.defer("document")[:MOST_LISTED],
    }
    return render(request, PAGE, context)
