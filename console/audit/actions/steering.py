"""What is decided and done on the cluster, and the switch that stops it."""

from django.utils.translation import gettext_lazy as _

from console.audit.actions.kinds import AuditAction, ReasonRule

PLAN_FACTS = ("cluster", "partition", "job_id", "plan")

ACTIONS = (
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
        ReasonRule.BY_PEOPLE,
    ),
    AuditAction(
        "plan.rejected",
        _("Plan rejected"),
        _("{actor} rejected {object_label}: {reason}"),
        PLAN_FACTS,
        ReasonRule.BY_PEOPLE,
    ),
    AuditAction(
        "plan.renewed",
        _("Plan renewed"),
        _("{actor} worked out {object_label} anew: {reason}"),
        (*PLAN_FACTS, "before", "after"),
        ReasonRule.ALWAYS,
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
        ReasonRule.ALWAYS,
    ),
    AuditAction(
        "plan.failed",
        _("Plan failed"),
        _("This failed: {object_label}: {reason}"),
        PLAN_FACTS,
        ReasonRule.ALWAYS,
    ),
    AuditAction(
        "plan.superseded",
        _("Plan superseded"),
        _("A newer decision took the place of {object_label}: {reason}"),
        PLAN_FACTS,
        ReasonRule.ALWAYS,
    ),
    AuditAction(
        "plan.expired",
        _("Plan expired"),
        _("This was not needed any more: {object_label}: {reason}"),
        PLAN_FACTS,
        ReasonRule.ALWAYS,
    ),
    AuditAction(
        "action.issued",
        _("Action issued"),
        _("{actor} told the cluster: {object_label}."),
        (*PLAN_FACTS, "after"),
    ),
    AuditAction("action.verified", _("Action seen"), _("The cluster shows it: {object_label}."), PLAN_FACTS),
    AuditAction(
        "action.failed",
        _("Action failed"),
        _("This failed: {object_label}: {reason}"),
        PLAN_FACTS,
        ReasonRule.ALWAYS,
    ),
    AuditAction(
        "action.expired",
        _("Action dropped"),
        _("This was not needed any more: {object_label}: {reason}"),
        PLAN_FACTS,
        ReasonRule.ALWAYS,
    ),
    AuditAction(
        "checkpoint.acknowledged",
        _("Checkpoint done"),
        _("{actor} told that {object_label} has saved its state."),
        (*PLAN_FACTS, "after"),
    ),
    AuditAction(
        "requeue.lost",
        _("No longer requeueable"),
        _("{object_label} was made not requeueable after it was submitted: nobody could stop it."),
        ("cluster", "job_id", "after"),
    ),
    AuditAction(
        "requeue.allowed",
        _("Made requeueable"),
        _("{actor} made {object_label} requeueable again."),
        ("cluster", "job_id", "after"),
    ),
    AuditAction(
        "requeue.refused",
        _("Not made requeueable"),
        _("{object_label} could not be made requeueable again: {reason}"),
        ("cluster", "job_id", "after"),
        ReasonRule.ALWAYS,
    ),
    AuditAction(
        "requeue.seen",
        _("Requeueable again"),
        _("The cluster shows it: {object_label} is requeueable again."),
        ("cluster", "job_id"),
    ),
    # --- Incidents ---
    AuditAction(
        "incident.opened",
        _("Incident opened"),
        _("A stopped job did not come back: {object_label}: {reason}"),
        (*PLAN_FACTS, "after"),
        ReasonRule.ALWAYS,
    ),
    AuditAction(
        "incident.closed",
        _("Incident closed"),
        _("{actor} closed {object_label}: {reason}"),
        PLAN_FACTS,
        ReasonRule.ALWAYS,
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
)
