"""Accounts: who comes in, who is let in, what is done with their tokens."""

from django.utils.translation import gettext_lazy as _

from console.audit.actions.kinds import AuditAction, ReasonRule

ACTIONS = (
    AuditAction(
        "account.created",
        _("Account created"),
        _("{actor} created the account {object_label}."),
        ("after",),
    ),
    AuditAction(
        "account.changed",
        _("Account changed"),
        _("{actor} changed the account {object_label}."),
        ("before", "after"),
    ),
    AuditAction(
        "account.invited",
        _("Invited"),
        _("{actor} invited {object_label}."),
        ("after",),
        ReasonRule.BY_PEOPLE,
    ),
    AuditAction(
        "account.invitation_withdrawn",
        _("Invitation taken back"),
        _("{actor} took the invitation of {object_label} back."),
        ("after",),
        ReasonRule.BY_PEOPLE,
    ),
    AuditAction("account.signed_in", _("Signed in"), _("{actor} signed in.")),
    AuditAction("account.signed_out", _("Signed out"), _("{actor} signed out.")),
    AuditAction(
        "account.sign_in_failed",
        _("Sign-in failed"),
        _("Somebody failed to sign in as {object_label}."),
    ),
    AuditAction(
        "account.not_admitted",
        _("Not let in"),
        _("{object_label} signed in elsewhere and was not let in."),
        reason=ReasonRule.ALWAYS,
    ),
    AuditAction("account.token_made", _("Token made"), _("A token was made for {object_label}.")),
    AuditAction(
        "account.token_revoked", _("Token revoked"), _("{actor} revoked the token of {object_label}.")
    ),
    AuditAction(
        "account.sessions_ended",
        _("Signed out everywhere"),
        _("{actor} ended all sessions of {object_label}."),
    ),
)
