"""A partition's policy: its form, the step to enforcement, its drafts and revisions, and two of them side by side."""

from typing import Any

from django.contrib import messages
from django.core.paginator import Paginator
from django.db import transaction
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from console.accounts.access import person, require_read, require_write
from console.accounts.audited_form import Saved, audited_form
from console.accounts.permissions import Permission
from console.accounts.rules import is_administrator
from console.core.diff import differences
from console.core.htmx import render_page
from console.core.rows import BUTTON, Rows, make_rows
from console.partitions.comparing import IN_FORCE, ComparedVersion, in_words, side, side_by_side
from console.partitions.documents import checked_policy
from console.partitions.drafts import (
    Content,
    activate_draft,
    change_draft,
    create_draft,
    delete_draft,
    roll_back,
)
from console.partitions.forms import ROW_FORMS, ActivateForm, DeleteDraftForm, PolicyForm, policy_initial
from console.partitions.models import Partition, PolicyDraft
from console.partitions.sections import FIRST, sections_of
from console.partitions.selectors import decoded, policy_in_force, policy_of, visible_partitions, written_out
from console.partitions.services import activate_policy, set_admins
from scheduler.contracts.errors import InputError
from scheduler.model.policy import Enforcement, PartitionPolicy

PAGE = "partitions/policy.html"
CONFIRMED = "confirmed"
BACK = "back"
AS_DRAFT = "save_draft"
REVISIONS_PER_PAGE = 25
MOST_LISTED = 200
By = dict[str, str]


def readable_partition(request: HttpRequest, name: str) -> Partition:
    """The partition, if this person may read its policy."""
    partition = get_object_or_404(visible_partitions(person(request)), name=name, revision__isnull=False)
    require_read(request, Permission.POLICY_VIEW, partition)
    return partition


def head(request: HttpRequest, partition: Partition) -> dict[str, Any]:
    """What the top of every page about a policy shows."""
    return {
        "partition": partition,
        "policy": policy_of(partition),
        "revision": policy_in_force(partition),
        "may_see_policy": True,
        "may_change": request.user.has_perm(Permission.POLICY_CHANGE, partition),
    }


def _in_sections(
    request: HttpRequest, policy: PartitionPolicy, form: PolicyForm, rows: dict[str, Rows]
) -> dict[str, Any]:
    """The form in sections, and whether it holds what somebody has typed and not saved."""
    sections = sections_of(policy, form, rows, request.POST.get(BUTTON, ""))
    return {
        "form": form,
        "rows": rows,
        "first": FIRST,
        "sections": sections,
        "differ": sum(each.differ for each in sections),
        "typed": request.method == "POST",
    }


@require_http_methods(["GET", "HEAD", "POST"])
def policy(request: HttpRequest, name: str) -> HttpResponse:
    """The policy's form; without buttons for those who may only read it."""
    partition = readable_partition(request, name)

    def make(**kwargs: Any) -> PolicyForm:
        form = PolicyForm(**kwargs)
        if not is_administrator(request.user):  # only they name the administrators of a partition
            del form.fields["admins"]
        return form

    def save(form: PolicyForm, rows: dict[str, Rows], by: By) -> Saved | HttpResponse | None:
        wanted = checked_policy(partition.name, form, rows)
        if wanted and AS_DRAFT in request.POST:
            return save_new_draft(partition, form, wanted, by)
        if wanted and _needs_confirmation(request, partition, wanted):
            return _confirm(request, partition, wanted)
        if not wanted:
            return None
        with transaction.atomic():
            based_on = form.cleaned_data["based_on"] or 0
            activate_policy(partition=partition, document=wanted, based_on=based_on, **by)
            if "admins" in form.fields:
                set_admins(partition=partition, usernames=form.cleaned_data["admins"], **by)
        words = _("The policy of %(name)s is in force.") % {"name": partition.name}
        return Saved(reverse("partition-policy", args=[partition.name]), words)

    def show(form: PolicyForm, rows: dict[str, Rows], *, invalid: bool = False) -> HttpResponse:
        context = head(request, partition) | {"tab": "policy"}
        context |= _in_sections(request, policy_of(partition), form, rows)
        return render_page(request, PAGE, context, invalid=invalid)

    if request.method == "POST":
        require_write(request, Permission.POLICY_CHANGE, partition)
        return audited_form(request, make, save, show, rows=ROW_FORMS, back=BACK)
    values, rows = policy_initial(policy_of(partition))
    values["based_on"] = policy_in_force(partition).number
    values["admins"] = [admin.username for admin in partition.admins.all()]
    return show(make(initial=values), make_rows(ROW_FORMS, initial=rows))


def save_new_draft(partition: Partition, form: Any, document: Any, by: By) -> Saved:
    """Keep what a form about the policy says beside it."""
    draft = create_draft(
        partition=partition, content=Content(form.cleaned_data["draft_name"], document), **by
    )
    words = _("The draft “%(name)s” is saved; nothing is in force.") % {"name": draft.name}
    return Saved(reverse("partition-draft", args=[partition.name, draft.pk]), words)


def save_draft(request: HttpRequest, draft: PolicyDraft, form: Any, content: Content, by: By) -> Saved:
    """Change a draft, and stay on the page."""
    change_draft(draft=draft, content=content, version=form.cleaned_data["based_on"] or 0, **by)
    return Saved(request.get_full_path(), _("The draft is saved; nothing is in force."))


def _needs_confirmation(request: HttpRequest, partition: Partition, wanted: PartitionPolicy) -> bool:
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


# --- Drafts ---


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


@require_http_methods(["GET", "HEAD", "POST"])
def draft(request: HttpRequest, name: str, pk: int) -> HttpResponse:
    """The draft's form; saving it changes the draft and nothing else."""
    found = _draft(request, name, pk)

    def make(**kwargs: Any) -> PolicyForm:
        form = PolicyForm(**kwargs)
        del form.fields["admins"]  # who administers the partition is no part of a policy
        form.fields["draft_name"].required = True
        return form

    def save(form: PolicyForm, rows: dict[str, Rows], by: By) -> Saved | None:
        wanted = checked_policy(found.partition.name, form, rows)
        content = wanted and Content(form.cleaned_data["draft_name"], wanted)
        return save_draft(request, found, form, content, by) if content else None

    def show(form: PolicyForm, rows: dict[str, Rows], *, invalid: bool = False) -> HttpResponse:
        delete_form = DeleteDraftForm(initial={"version": found.version}, auto_id="delete-%s")
        context = head(request, found.partition)
        context |= {"tab": "revisions", "draft": found, "delete_form": delete_form}
        context |= _in_sections(request, decoded(found.document), form, rows)
        return render_page(request, PAGE, context, invalid=invalid)

    if request.method == "POST":
        require_write(request, Permission.POLICY_CHANGE, found.partition)
        return audited_form(request, make, save, show, rows=ROW_FORMS)
    values, rows = policy_initial(decoded(found.document))
    values |= {"based_on": found.version, "draft_name": found.name}
    return show(make(initial=values), make_rows(ROW_FORMS, initial=rows))


@require_POST
def delete(request: HttpRequest, name: str, pk: int) -> HttpResponse:
    """Throw a draft away."""
    found = _draft(request, name, pk)
    require_write(request, Permission.POLICY_CHANGE, found.partition)

    def save(form: DeleteDraftForm, _rows: object, by: By) -> Saved:
        delete_draft(draft=found, version=form.cleaned_data["version"], **by)
        words = _("The draft “%(name)s” is deleted.") % {"name": found.name}
        return Saved(reverse("partition-revisions", args=[found.partition.name]), words)

    def show(form: DeleteDraftForm, _rows: object, *, invalid: bool) -> HttpResponse:
        changed = " ".join(map(str, form.non_field_errors()))
        messages.error(request, changed or _("Say why the draft is to go; it stands in the audit log."))
        return redirect("partition-draft", found.partition.name, found.pk)

    return audited_form(request, DeleteDraftForm, save, show)


# --- Two states of a policy beside each other, and from there the step that puts one of them in force ---


@require_safe
def compare(request: HttpRequest, name: str) -> HttpResponse:
    """Any two of the revisions and drafts, in words and side by side."""
    partition = readable_partition(request, name)
    left, right = _side(partition, request.GET.get("from")), _side(partition, request.GET.get("to"))
    initial = {
        "to": right.key,
        "based_on": policy_in_force(partition).number,
        "version": right.draft.version if right.draft else None,
    }
    return _show_sides(request, partition, left, right, ActivateForm(initial=initial))


@require_POST
def activate(request: HttpRequest, name: str) -> HttpResponse:
    """Put the draft or the earlier revision that was compared in force."""
    partition = readable_partition(request, name)
    require_write(request, Permission.POLICY_CHANGE, partition)
    left, right = _side(partition, IN_FORCE), _side(partition, request.POST.get("to"))
    wanted = _readable_policy(right)

    def valid(form: ActivateForm, _rows: object) -> bool:
        if wanted is None:
            form.add_error(None, _("It cannot be read any more; nothing was changed."))
        elif form.is_valid() and _needs_confirmation(request, partition, wanted):
            form.add_error(None, _("This goes to enforcement; confirm that with its own button."))
        return form.is_valid()

    def save(form: ActivateForm, _rows: object, by: By) -> Saved:
        based_on = form.cleaned_data["based_on"]
        if right.draft:
            right.draft.partition = partition
            version = form.cleaned_data["version"] or 0
            activate_draft(draft=right.draft, version=version, based_on=based_on, **by)
        elif right.revision:
            roll_back(partition=partition, number=right.revision.number, based_on=based_on, **by)
        words = _("The policy of %(name)s is in force.") % {"name": partition.name}
        return Saved(reverse("partition-revisions", args=[partition.name]), words)

    def show(form: ActivateForm, _rows: object, *, invalid: bool) -> HttpResponse:
        return _show_sides(request, partition, left, right, form)

    return audited_form(request, ActivateForm, save, show, valid=valid)


def _side(partition: Partition, key: str | None) -> ComparedVersion:
    found = side(partition, key or IN_FORCE)
    if found is None:
        raise Http404(_("There is no such revision or draft."))
    return found


def _readable_policy(of: ComparedVersion) -> PartitionPolicy | None:
    """None when it is too old to be read."""
    try:
        return decoded(of.document)
    except InputError:
        return None


def _show_sides(
    request: HttpRequest,
    partition: Partition,
    left: ComparedVersion,
    right: ComparedVersion,
    form: ActivateForm,
) -> HttpResponse:
    context: dict[str, Any] = head(request, partition)
    wanted, now = _readable_policy(right), context["policy"]
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
    return render(request, "partitions/compare.html", context)
