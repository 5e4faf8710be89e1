"""Every action that the audit log knows: name, label for lists, sentence, and the facts it must carry.

A new action is a line here. `record` refuses what is not here and what lacks a fact, so that a row can
always be read and rendered. Sentences take a row's own fields in braces.
"""

from dataclasses import dataclass
from enum import Enum
from typing import Any

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

Text = str | Promise


class Reason(Enum):
    """Whether a row must carry a reason in words."""

    FREE = "free"
    BY_PEOPLE = "by people"
    """When the actor is a person; what the system does by itself follows from its plan."""
    ALWAYS = "always"


@dataclass(frozen=True, slots=True)
class AuditAction:
    """One kind of row. `needs` are fields of the row that must not be empty."""

    name: str
    label: Text
    sentence: Text
    needs: tuple[str, ...] = ()
    reason: Reason = Reason.FREE

    def missing(self, facts: dict[str, Any], *, by_person: bool) -> list[str]:
        """The fields that this action requires and `facts` lacks."""
        needs = list(self.needs)
        if self.reason is Reason.ALWAYS or (self.reason is Reason.BY_PEOPLE and by_person):
            needs.append("reason")
        return [field for field in needs if facts[field] in (None, "", {}, [])]


PLAN_FACTS = ("cluster", "partition", "job_id", "plan")

ACTIONS: dict[str, AuditAction] = {
    action.name: action
    for action in (
        # --- What people configure ---
        AuditAction(
            "project.created",
            _("Project created"),
            _("{actor} created the project {object_label}."),
            ("cluster", "project", "after"),
            Reason.BY_PEOPLE,
        ),
        AuditAction(
            "project.changed",
            _("Project changed"),
            _("{actor} changed the project {object_label}."),
            ("cluster", "project", "before", "after"),
            Reason.BY_PEOPLE,
        ),
        AuditAction(
            "project.deleted",
            _("Project deleted"),
            _("{actor} deleted the project {object_label}."),
            ("cluster", "project", "before"),
            Reason.BY_PEOPLE,
        ),
        AuditAction(
            "project_rules.changed",
            _("Rules for projects changed"),
            _("{actor} changed the rules for projects: the schedule of urgency or the limits for managers."),
            ("before", "after"),
            Reason.BY_PEOPLE,
        ),
        AuditAction(
            "urgency_request.asked",
            _("Urgency asked for"),
            _("{actor} asked for another urgency of {object_label}."),
            ("cluster", "project", "after"),
            Reason.BY_PEOPLE,
        ),
        AuditAction(
            "urgency_request.approved",
            _("Urgency approved"),
            _("{actor} approved the urgency that was asked for {object_label}."),
            ("cluster", "project", "after"),
            Reason.BY_PEOPLE,
        ),
        AuditAction(
            "urgency_request.rejected",
            _("Urgency rejected"),
            _("{actor} rejected the urgency that was asked for {object_label}: {reason}"),
            ("cluster", "project", "after"),
            Reason.BY_PEOPLE,
        ),
        AuditAction(
            "urgency_request.withdrawn",
            _("Request withdrawn"),
            _("{actor} withdrew the urgency that was asked for {object_label}."),
            ("cluster", "project", "after"),
            Reason.BY_PEOPLE,
        ),
        AuditAction(
            "partition.created",
            _("Partition attached"),
            _("{actor} attached the partition {object_label}, in shadow."),
            ("cluster", "partition", "after", "policy_revision"),
        ),
        AuditAction(
            "partition.admins_changed",
            _("Partition administrators changed"),
            _("{actor} changed who administers the partition {object_label}."),
            ("cluster", "partition"),
            Reason.BY_PEOPLE,
        ),
        AuditAction(
            "policy.activated",
            _("Policy changed"),
            _("{actor} put policy revision {policy_revision} of partition {partition} in force."),
            ("cluster", "partition", "before", "after", "policy_revision"),
            Reason.BY_PEOPLE,
        ),
        AuditAction(
            "policy.draft_saved",
            _("Policy draft saved"),
            _("{actor} saved a draft of a policy, not in force: {object_label}."),
            ("cluster", "partition", "after"),
            Reason.BY_PEOPLE,
        ),
        AuditAction(
            "policy.draft_deleted",
            _("Policy draft deleted"),
            _("{actor} deleted a draft of a policy: {object_label}."),
            ("cluster", "partition", "before"),
            Reason.BY_PEOPLE,
        ),
        AuditAction(
            "config.imported",
            _("Priority file imported"),
            _("{actor} imported a priority file into {object_label}."),
            ("cluster", "after"),
            Reason.ALWAYS,
        ),
        # --- What if ---
        AuditAction(
            "study.asked",
            _("Study asked for"),
            _("{actor} asked what a change would have done over the last days: {object_label}."),
            ("cluster", "after"),
        ),
        AuditAction(
            "study.cancelled", _("Study cancelled"), _("{actor} cancelled {object_label}."), ("cluster",)
        ),
        # --- Accounts ---
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
            Reason.BY_PEOPLE,
        ),
        AuditAction(
            "account.invitation_withdrawn",
            _("Invitation taken back"),
            _("{actor} took the invitation of {object_label} back."),
            ("after",),
            Reason.BY_PEOPLE,
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
            reason=Reason.ALWAYS,
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
        # --- What is decided and done ---
        AuditAction(
            "plan.proposed",
            _("Plan proposed"),
            _("{actor} proposed {object_label} in partition {partition}."),
            (*PLAN_FACTS, "cycle", "after"),
        ),
        AuditAction(
            "plan.approved",
            _("Plan approved"),
            _("{actor} approved {object_label}."),
            PLAN_FACTS,
            Reason.BY_PEOPLE,
        ),
        AuditAction(
            "plan.rejected",
            _("Plan rejected"),
            _("{actor} rejected {object_label}: {reason}"),
            PLAN_FACTS,
            Reason.BY_PEOPLE,
        ),
        AuditAction(
            "plan.executing",
            _("Plan started"),
            _("{actor} started to carry out {object_label}."),
            PLAN_FACTS,
        ),
        AuditAction(
            "plan.verified",
            _("Plan done"),
            _("Done and seen to work: {object_label}."),
            PLAN_FACTS,
        ),
        AuditAction(
            "plan.undone",
            _("Plan undone"),
            _("{actor} undid {object_label}: {reason}"),
            PLAN_FACTS,
            Reason.ALWAYS,
        ),
        AuditAction(
            "plan.failed",
            _("Plan failed"),
            _("This failed: {object_label}: {reason}"),
            PLAN_FACTS,
            Reason.ALWAYS,
        ),
        AuditAction(
            "plan.superseded",
            _("Plan superseded"),
            _("A newer decision took the place of {object_label}: {reason}"),
            PLAN_FACTS,
            Reason.ALWAYS,
        ),
        AuditAction(
            "plan.expired",
            _("Plan expired"),
            _("This was not needed any more: {object_label}: {reason}"),
            PLAN_FACTS,
            Reason.ALWAYS,
        ),
        AuditAction(
            "action.issued",
            _("Action issued"),
            _("{actor} told the cluster: {object_label}."),
            (*PLAN_FACTS, "after"),
        ),
        AuditAction(
            "action.verified", _("Action seen"), _("The cluster shows it: {object_label}."), PLAN_FACTS
        ),
        AuditAction(
            "action.failed",
            _("Action failed"),
            _("This failed: {object_label}: {reason}"),
            PLAN_FACTS,
            Reason.ALWAYS,
        ),
        AuditAction(
            "action.expired",
            _("Action dropped"),
            _("This was not needed any more: {object_label}: {reason}"),
            PLAN_FACTS,
            Reason.ALWAYS,
        ),
        AuditAction(
            "checkpoint.acknowledged",
            _("Checkpoint done"),
            _("{actor} told that {object_label} has saved its state."),
            (*PLAN_FACTS, "after"),
        ),
        # --- The switch ---
        AuditAction(
            "pause.set",
            _("Paused"),
            _("{actor} paused {object_label}: nobody is stopped there. {reason}"),
            ("cluster",),
        ),
        AuditAction(
            "pause.lifted",
            _("Pause lifted"),
            _("{actor} lifted the pause of {object_label}."),
            ("cluster",),
        ),
        # --- The log itself ---
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
            Reason.ALWAYS,
        ),
        AuditAction(
            "chain.whole",
            _("Log whole again"),
            _("{actor} found the audit log whole again."),
            ("after",),
        ),
        # --- The cluster ---
        AuditAction(
            "cluster.degraded",
            _("Cluster not readable"),
            _("{object_label} could not be read in full; nothing is decided until it can: {reason}"),
            ("cluster",),
            Reason.ALWAYS,
        ),
        AuditAction(
            "cluster.recovered",
            _("Cluster readable again"),
            _("{object_label} can be read in full again."),
            ("cluster",),
        ),
    )
}


def known(name: str) -> AuditAction:
    """The action called `name`; `ValueError` when there is none."""
    action = ACTIONS.get(name)
    if action is None:
        raise ValueError(f"The audit log knows no action '{name}'; add it to console/audit/registry.py.")
    return action
