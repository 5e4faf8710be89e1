"""What people configure: projects, partitions, policies, the priority file; and what they ask of a change first."""

from django.utils.translation import gettext_lazy as _

from console.audit.actions.kinds import AuditAction, ReasonRule

ACTIONS = (
    # --- What people configure ---
    AuditAction(
        "project.created",
        _("Project created"),
        _("{actor} created the project {object_label}."),
        ("cluster", "project", "after"),
        ReasonRule.BY_PEOPLE,
    ),
    AuditAction(
        "project.changed",
        _("Project changed"),
        _("{actor} changed the project {object_label}."),
        ("cluster", "project", "before", "after"),
        ReasonRule.BY_PEOPLE,
    ),
    AuditAction(
        "project.deleted",
        _("Project deleted"),
        _("{actor} deleted the project {object_label}."),
        ("cluster", "project", "before"),
        ReasonRule.BY_PEOPLE,
    ),
    AuditAction(
        "project_rules.changed",
        _("Rules for projects changed"),
        _("{actor} changed the rules for projects: the schedule of urgency or the limits for managers."),
        ("before", "after"),
        ReasonRule.BY_PEOPLE,
    ),
    AuditAction(
        "urgency_request.asked",
        _("Urgency asked for"),
        _("{actor} asked for another urgency of {object_label}."),
        ("cluster", "project", "after"),
        ReasonRule.BY_PEOPLE,
    ),
    AuditAction(
        "urgency_request.approved",
        _("Urgency approved"),
        _("{actor} approved the urgency that was asked for {object_label}."),
        ("cluster", "project", "after"),
        ReasonRule.BY_PEOPLE,
    ),
    AuditAction(
        "urgency_request.rejected",
        _("Urgency rejected"),
        _("{actor} rejected the urgency that was asked for {object_label}: {reason}"),
        ("cluster", "project", "after"),
        ReasonRule.BY_PEOPLE,
    ),
    AuditAction(
        "urgency_request.withdrawn",
        _("Request withdrawn"),
        _("{actor} withdrew the urgency that was asked for {object_label}."),
        ("cluster", "project", "after"),
        ReasonRule.BY_PEOPLE,
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
        ReasonRule.BY_PEOPLE,
    ),
    AuditAction(
        "policy.activated",
        _("Policy changed"),
        _("{actor} put policy revision {policy_revision} of partition {partition} in force."),
        ("cluster", "partition", "before", "after", "policy_revision"),
        ReasonRule.BY_PEOPLE,
    ),
    AuditAction(
        "policy.draft_saved",
        _("Policy draft saved"),
        _("{actor} saved a draft of a policy, not in force: {object_label}."),
        ("cluster", "partition", "after"),
        ReasonRule.BY_PEOPLE,
    ),
    AuditAction(
        "policy.draft_deleted",
        _("Policy draft deleted"),
        _("{actor} deleted a draft of a policy: {object_label}."),
        ("cluster", "partition", "before"),
        ReasonRule.BY_PEOPLE,
    ),
    AuditAction(
        "config.imported",
        _("Priority file imported"),
        _("{actor} imported a priority file into {object_label}."),
        ("cluster", "after"),
        ReasonRule.ALWAYS,
    ),
    # --- Compute power ---
    AuditAction(
        "power.rule_changed",
        _("Measuring changed"),
        _("{actor} changed how the processors of {object_label} are measured."),
        ("cluster", "partition", "before", "after"),
        ReasonRule.BY_PEOPLE,
    ),
    AuditAction(
        "power.asked",
        _("Measuring asked for"),
        _("{actor} asked for nodes of {object_label} to be measured."),
        ("cluster", "partition", "after"),
    ),
    AuditAction(
        "power.measured",
        _("Processor measured"),
        _("The compute power of {object_label} was measured."),
        ("cluster", "partition", "after"),
    ),
    AuditAction(
        "power.set",
        _("Compute power set"),
        _("{actor} set the compute power of processors of {object_label}."),
        ("cluster", "partition", "before", "after"),
        ReasonRule.ALWAYS,
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
)
