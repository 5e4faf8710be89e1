"""Drafts of a policy, and the two ways in which a stored policy comes into force: a draft, and an earlier revision.

Everything here is one transaction with its row in the audit log. Whoever may change the policy may do all of it.
"""

from dataclasses import dataclass
from typing import Any

from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from console.audit.missed import deleted_by, missed_changes
from console.audit.services import Context, reason_of, record
from console.core.concurrent_changes import ChangedSinceError, MissedChanges
from console.core.limits import no_room
from console.partitions.models import Partition, PolicyDraft, PolicyRevision
from console.partitions.selectors import policy_in_force
from console.partitions.services import activate_policy, checked, subject_of
from scheduler.contracts.config import encode_policy
from scheduler.model.policy import PartitionPolicy

LONGEST_NAME = 80


@dataclass(frozen=True, slots=True)
class Content:
    """What somebody may set on a draft."""

    name: str
    document: dict[str, Any] | PartitionPolicy


def create_draft(
    *, actor: str, partition: Partition, content: Content, reason: str, request_id: str = ""
) -> PolicyDraft:
    """A new draft beside the policy in force.

    Raises `ValidationError` by key of the document, `draft_name` and `reason` among them.
    """
    reason = reason_of(actor, reason)
    name, policy = _name(content.name), checked(content.document, partition)
    if full := no_room("drafts", partition.drafts.count()):
        raise ValidationError({"draft_name": full})
    with transaction.atomic():
        draft = PolicyDraft(
            partition=partition,
            name=name,
            document=encode_policy(policy),
            based_on=policy_in_force(partition).number,
            authors=[actor],
            reason=reason,
        )
        _save(draft)
        _tell("saved", draft, actor, reason, request_id, after=draft.document)
    return draft


def change_draft(
    *, actor: str, draft: PolicyDraft, content: Content, reason: str, version: int, request_id: str = ""
) -> PolicyDraft:
    """Save a draft again; nothing to change: nothing is written. `version` is what the caller had read."""
    reason = reason_of(actor, reason)
    name = _name(content.name)
    document = encode_policy(checked(content.document, draft.partition))
    with transaction.atomic():
        current = _locked(draft, version)
        before = current.document
        if (name, document) == (current.name, before):
            return current
        current.name, current.document, current.reason = name, document, reason
        current.version += 1
        if actor not in current.authors:
            current.authors = [*current.authors, actor]
        _save(current)
        _tell("saved", current, actor, reason, request_id, before=before, after=document)
    return current


def delete_draft(*, actor: str, draft: PolicyDraft, reason: str, version: int, request_id: str = "") -> None:
    """Throw a draft away; the audit log keeps what it said."""
    reason = reason_of(actor, reason)
    with transaction.atomic():
        current = _locked(draft, version)
        current.delete()
        _tell("deleted", current, actor, reason, request_id, before=current.document)


def activate_draft(
    *, actor: str, draft: PolicyDraft, reason: str, version: int, based_on: int, request_id: str = ""
) -> PolicyRevision:
    """Put a draft in force as the next revision; the draft is gone then.

    `version` is the draft's and `based_on` the revision in force with which the caller has compared it;
    `ChangedSinceError` when either is another one by now.
    """
    with transaction.atomic():
        current = _locked(draft, version)
        current.delete()
        return _activate_stored(
            current.partition,
            current.document,
            actor=actor,
            reason=reason,
            based_on=based_on,
            request_id=request_id,
            source=gettext_noop("draft %(name)s") % {"name": current.name},
        )


def roll_back(
    *, actor: str, partition: Partition, number: int, reason: str, based_on: int, request_id: str = ""
) -> PolicyRevision:
    """Put an earlier revision in force again, as the next revision: what happened in between stays to be seen."""
    with transaction.atomic():
        earlier = PolicyRevision.objects.filter(partition=partition, number=number).first()
        if earlier is None:
            raise ValidationError({"revision": _("There is no revision %(n)d.") % {"n": number}})
        return _activate_stored(
            partition,
            earlier.document,
            actor=actor,
            reason=reason,
            based_on=based_on,
            request_id=request_id,
            source=gettext_noop("back to revision %(n)d") % {"n": number},
        )


def _activate_stored(
    partition: Partition, document: dict[str, Any], *, based_on: int, **facts: Any
) -> PolicyRevision:
    revision = activate_policy(partition=partition, document=document, based_on=based_on, **facts)
    if revision.number == based_on:
        raise ValidationError({"__all__": _("That is what is in force already; there is nothing to change.")})
    return revision


def _name(text: str) -> str:
    name = text.strip()
    if not name:
        raise ValidationError({"draft_name": _("Give the draft a name.")})
    if len(name) > LONGEST_NAME or not name.isprintable():
        raise ValidationError(
            {"draft_name": _("At most %(most)d letters, none invisible.") % {"most": LONGEST_NAME}}
        )
    return name


def _save(draft: PolicyDraft) -> None:
    try:
        with transaction.atomic():
            draft.save()
    except IntegrityError:
        raise ValidationError(
            {"draft_name": _("There is a draft “%(name)s” already.") % {"name": draft.name}}
        ) from None


def _locked(draft: PolicyDraft, version: int) -> PolicyDraft:
    """The draft as it is, ours until the transaction ends."""
    current = (
        PolicyDraft.objects.select_for_update(of=("self",))
        .select_related("partition__cluster", "partition__revision")
        .filter(pk=draft.pk)
        .first()
    )
    if current is None or current.version != version:
        what = _("draft %(name)s") % {"name": draft.name}
        missed = _missed(current or draft, version, is_gone=current is None)
        raise ChangedSinceError(
            what, seen=version, current=current.version if current else None, missed=missed
        )
    return current


def _missed(draft: PolicyDraft, since: int, *, is_gone: bool) -> MissedChanges | None:
    """What others did with it, from the audit log, which knows it by its name."""
    subject = subject_of(draft.partition, draft.name)
    of = {"partition": subject.partition, "cluster": subject.cluster, "object_label": subject.label}
    if is_gone:
        return deleted_by(action="policy.draft_deleted", at__gte=draft.created_at, **of)
    return missed_changes(since, draft.version, action="policy.draft_saved", **of)


def _tell(
    what: str, draft: PolicyDraft, actor: str, reason: str, request_id: str, **states: dict[str, Any]
) -> None:
    record(
        actor=actor,
        action=f"policy.draft_{what}",
        subject=subject_of(draft.partition, draft.name),
        reason=reason,
        context=Context(request_id=request_id, policy_revision=draft.based_on),
        **states,
    )
