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
        "project_proposal.proposed",
        _("Project proposed"),
        _("{actor} proposed the project {object_label}."),
        ("cluster", "after"),
        ReasonRule.BY_PEOPLE,
    ),
    AuditAction(
        "project_proposal.approved",
        _("Proposed project accepted"),
        _("{actor} accepted the proposed project {object_label}."),
        ("cluster", "project", "after"),
        ReasonRule.BY_PEOPLE,
    ),
    AuditAction(
        "project_proposal.rejected",
        _("Proposed project rejected"),
        _("{actor} rejected the proposed project {object_label}: {reason}"),
        ("cluster", "after"),
        ReasonRule.BY_PEOPLE,
    ),
    AuditAction(
        "project_proposal.withdrawn",
        _("Proposal withdrawn"),
        _("{actor} withdrew the proposed project {object_label}."),
        ("cluster", "after"),
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
        "power.incident_opened",
        _("Processor stands out"),
        _("{object_label} stands out by its compute power."),
        ("cluster", "after"),
    ),
    AuditAction(
        "power.incident_closed",
        _("Processor ordinary again"),
        _("{object_label} is ordinary again."),
        ("cluster",),
    ),
    AuditAction(
        "power.incident_left",
        _("Slow processor left"),
        _("{actor} left {object_label} as it is."),
        ("cluster", "after"),
        ReasonRule.BY_PEOPLE,
    ),
    AuditAction(
        "power.drain_asked",
        _("Draining asked for"),
        _("{actor} had the node of {object_label} drained."),
        ("cluster", "after"),
        ReasonRule.BY_PEOPLE,
    ),
    AuditAction(
        "power.return_asked",
        _("Putting back asked for"),
        _("{actor} had the node of {object_label} put back."),
        ("cluster", "after"),
        ReasonRule.BY_PEOPLE,
    ),
    AuditAction(
        "power.drained",
        _("Node drained"),
        _("The node of {object_label} was seen drained."),
        ("cluster", "after"),
    ),
    AuditAction(
        "power.put_back",
        _("Node put back"),
        _("The node of {object_label} was seen back."),
        ("cluster", "after"),
    ),
    AuditAction(
        "power.not_drained",
        _("Node not drained"),
        _("The node of {object_label} could not be drained."),
        ("cluster", "after"),
    ),
    AuditAction(
        "power.drain_over",
        _("Drain over"),
        _("Somebody else has changed the node of {object_label}: Giveway keeps it drained no more."),
        ("cluster", "after"),
    ),
    AuditAction(
        "power.driver_told",
        _("Driver told"),
        _("{actor} told the driver of processors of {object_label}."),
        ("cluster", "after"),
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
