"""Changing the rules for projects: one transaction with the row in the audit log, which keeps every revision."""

from django.core.exceptions import ValidationError
from django.db import transaction
from django.utils.translation import gettext as _

from console.audit.missed import missed_changes
from console.audit.services import Context, Subject, reason_of, record
from console.core.concurrent_changes import ChangedSinceError
from console.projects.models import ProjectRules
from console.projects.rulebook import Rules, decode_rules, encode_rules, faults_of

THE_ROW = 1
SUBJECT = Subject(type="project_rules", id="rules", label="rules for projects")


def rules_row() -> ProjectRules:
    """The rules as they are stored; an unsaved row, version 1, while nobody has set any."""
    return ProjectRules.objects.filter(pk=THE_ROW).first() or ProjectRules(pk=THE_ROW)


def change_rules(
    *, actor: str, rules: Rules, reason: str, version: int, request_id: str = ""
) -> ProjectRules:
    """Set all rules; nothing to change: nothing is written. They count from the next cycle on.

    Raises `ValidationError` by field, and `ChangedSinceError` when `version` is not the present one.
    """
    reason = reason_of(actor, reason)
    if faults := faults_of(rules):
        raise ValidationError(faults)
    with transaction.atomic():
        ProjectRules.objects.get_or_create(pk=THE_ROW)
        row = ProjectRules.objects.select_for_update().get(pk=THE_ROW)
        if row.version != version:
            of = {"object_type": SUBJECT.type, "object_id": SUBJECT.id, "action": "project_rules.changed"}
            missed = missed_changes(version, row.version, **of)
            raise ChangedSinceError(_("rules for projects"), seen=version, current=row.version, missed=missed)
        before, after = encode_rules(decode_rules(row.document)), encode_rules(rules)
        if before == after:
            return row
        row.document, row.version = after, row.version + 1
        row.save(update_fields=["document", "version", "updated_at"])
        record(
            actor=actor,
            action="project_rules.changed",
            subject=SUBJECT,
            before=before,
            after=after,
            reason=reason,
            context=Context(request_id=request_id),
        )
    return row
