"""The log itself: who takes it out, and whether it is whole."""

from django.utils.translation import gettext_lazy as _

from console.audit.actions.kinds import AuditAction, ReasonRule

ACTIONS = (
    AuditAction(
        "log.exported",
        _("Log exported"),
        _("{actor} exported {object_label}."),
        ("after",),
    ),
    AuditAction(
        "chain.broken",
        _("Log found broken"),
        _("{actor} found that the audit log is not whole: {reason}"),
        ("after",),
        ReasonRule.ALWAYS,
    ),
    AuditAction(
        "chain.whole",
        _("Log whole again"),
        _("{actor} found the audit log whole again."),
        ("after",),
    ),
)
