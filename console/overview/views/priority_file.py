"""The priority file in the browser: export it; import it in two steps, the differences seen before they are made."""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass

from django.contrib import messages
from django.core.exceptions import ValidationError
from django.core.files.uploadedfile import UploadedFile
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_POST, require_safe

from console.accounts.access import person, request_id, require_read
from console.accounts.permissions import Permission
from console.cluster.selectors import shown_cluster
from console.core.concurrent_changes import ChangedSinceError
from console.core.diff import KeyDifference
from console.core.limits import most
from console.core.translate import resay
from console.partitions.models import Partition
from console.partitions.own_file import allowed_to, imports_some, require_import
from console.partitions.priority_file import diff_config, export_config, import_config
from console.partitions.selectors import visible_partitions
from scheduler.contracts.errors import InputError
from scheduler.contracts.jsontext import parse

PAGE = "overview/priority_file.html"


@dataclass(frozen=True, slots=True)
class Proposal:
    """A file that was read, and what importing it would change. `seen` stands for exactly these differences."""

    text: str
    differences: list[KeyDifference]

    @property
    def seen(self) -> str:
        """A mark of the differences: the confirmation is for these and no others."""
        return hashlib.sha256("\n".join(map(str, self.differences)).encode()).hexdigest()


def _exportable(request: HttpRequest) -> list[Partition]:
    rows = visible_partitions(person(request)).filter(revision__isnull=False)
    return [row for row in rows if request.user.has_perm(Permission.CONFIG_EXPORT, row)]


@require_safe
def priority_file(request: HttpRequest) -> HttpResponse:
    """What may be exported, and the form to import."""
    own = _exportable(request)
    whole = request.user.has_perm(Permission.CONFIG_EXPORT)
    if not (own or whole):
        raise Http404(_("There is no such page, or it is not yours to see."))
    return render(request, PAGE, _context(request, own, whole=whole))


def _context(request: HttpRequest, own: Sequence[Partition], *, whole: bool) -> dict[str, object]:
    return {
        "partitions": own,
        "whole": whole,
        "may_import": imports_some(request.user),
        "imports_own": not request.user.has_perm(Permission.CONFIG_IMPORT),
        "cluster": shown_cluster(),
    }


@require_safe
def export(request: HttpRequest) -> HttpResponse:
    """Download the priority file (contract B); `?partition=` only that partition's entry."""
    partition, name = None, request.GET.get("partition")
    if name is not None:
        rows = visible_partitions(person(request)).filter(revision__isnull=False)
        partition = get_object_or_404(rows, name=name)
    require_read(request, Permission.CONFIG_EXPORT, partition)
    cluster = shown_cluster()
    text = json.dumps(export_config(cluster, partition), indent=1, ensure_ascii=False) + "\n"
    response = HttpResponse(text, content_type="application/json")
    label = f"{cluster.name}-{partition.name}" if partition else cluster.name
    response["Content-Disposition"] = f'attachment; filename="giveway-{_plain(label)}.json"'
    return response


def _plain(text: str) -> str:
    return "".join(char if char.isalnum() or char in "._-" else "_" for char in text)


@require_POST
def propose(request: HttpRequest) -> HttpResponse:
    """Read an uploaded file and show what importing it would change; nothing is changed yet."""
    require_import(request)
    upload = request.FILES.get("file")
    try:
        proposal = _proposal(request, _uploaded(upload))
    except InputError as error:
        return _refused(request, _told(error))
    return _show(request, proposal)


def _told(error: InputError) -> str:
    return f"{error.path}: {resay(error.message)}"


def _uploaded(upload: object) -> bytes:
    if not isinstance(upload, UploadedFile):
        raise InputError("$", _("no file was chosen"))
    size, largest = upload.size or 0, most("page_file")
    if size > largest:  # the text travels once more, in the form that confirms
        text = _("has %(n)d bytes, at most %(most)d here: import it with manage.py config import")
        raise InputError("$", text % {"n": size, "most": largest})
    return bytes(upload.read())


def _proposal(request: HttpRequest, data: bytes) -> Proposal:
    document = parse(data)
    found = diff_config(shown_cluster(), document, allowed_to(person(request)))
    return Proposal(data.decode("utf-8-sig"), found)


@require_POST
def confirm(request: HttpRequest) -> HttpResponse:
    """Import what was proposed, if it would still change exactly what was shown."""
    require_import(request)
    text = request.POST.get("document", "").encode()
    try:
        proposal = _proposal(request, text)
    except InputError as error:
        return _refused(request, _told(error))
    try:
        if proposal.seen != request.POST.get("seen"):
            changed = _("Something was changed since you looked. This is what it would change now.")
            return _show(request, proposal, changed)
        result = import_config(
            actor=person(request).username,
            cluster=shown_cluster(),
            document=parse(text),
            reason=request.POST.get("reason", ""),
            dry_run=False,
            request_id=request_id(request),
            allowed=allowed_to(person(request)),
        )
    except InputError as error:
        return _refused(request, _told(error))
    except ChangedSinceError as error:
        return _refused(request, error.for_people)
    except ValidationError as error:
        return _show(request, proposal, " ".join(error.messages))
    count = len(result.differences)
    messages.success(
        request, ngettext("Imported, %(n)d change.", "Imported, %(n)d changes.", count) % {"n": count}
    )
    return redirect("priority-file")


def _show(request: HttpRequest, proposal: Proposal, error: str = "") -> HttpResponse:
    context = _context(request, [], whole=True) | {
        "proposal": proposal,
        "error": error,
        "reason": request.POST.get("reason", ""),
        "goes_to_enforce": [
            each
            for each in proposal.differences
            if each.path.endswith(".enforcement") and each.after == "enforce"
        ],
    }
    return render(request, PAGE, context)


def _refused(request: HttpRequest, error: str) -> HttpResponse:
    whole = request.user.has_perm(Permission.CONFIG_EXPORT)
    context = _context(request, _exportable(request), whole=whole) | {"error": error}
    return render(request, PAGE, context, status=400)
