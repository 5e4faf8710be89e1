"""Whether the cluster can be read, and the cycles end well."""

from django.utils.translation import gettext_lazy as _

from console.audit.actions.kinds import AuditAction, ReasonRule

ACTIONS = (
    AuditAction(
        "cluster.degraded",
        _("Cluster not readable"),
        _("{object_label} could not be read in full; nothing is decided until it can: {reason}"),
        ("cluster",),
        ReasonRule.ALWAYS,
    ),
    AuditAction(
        "cluster.recovered",
        _("Cluster readable again"),
        _("{object_label} can be read in full again."),
        ("cluster",),
    ),
    AuditAction(
        "cycle.failed",
        _("Cycle failed"),
        _("{object_label}: nobody is stopped until a cycle has ended well. {reason}"),
        ("cluster",),
        ReasonRule.ALWAYS,
    ),
    AuditAction(
        "cycle.recovered",
        _("Cycle well again"),
        _("{object_label}: a cycle has ended well."),
        ("cluster",),
    ),
    AuditAction(
        "job.put_off",
        _("Put off"),
        _("Job {job_id} does not begin before it can be placed in {partition}. {reason}"),
        ("cluster", "partition", "job_id", "after"),
        ReasonRule.ALWAYS,
    ),
    AuditAction(
        "job.begins",
        _("May begin"),
        _("Job {job_id} may begin on the nodes that were chosen for it in {partition}. {reason}"),
        ("cluster", "partition", "job_id", "after"),
        ReasonRule.ALWAYS,
    ),
    AuditAction(
        "job.placed",
        _("Placed"),
        _("Job {job_id} runs on the nodes that were chosen for it in {partition}. {reason}"),
        ("cluster", "partition", "job_id", "after"),
        ReasonRule.ALWAYS,
    ),
    AuditAction(
        "job.placed_elsewhere",
        _("Not placed"),
        _("Job {job_id} runs in {partition}. {reason}"),
        ("cluster", "partition", "job_id", "after"),
        ReasonRule.ALWAYS,
    ),
    AuditAction(
        "job.given_back",
        _("Given back"),
        _("Job {job_id} is Slurm's to start in {partition}. {reason}"),
        ("cluster", "partition", "job_id", "after"),
        ReasonRule.ALWAYS,
    ),
    AuditAction(
        "nodes.kept",
        _("Nodes kept"),
        _("Nodes of {partition} are kept for job {job_id}."),
        ("cluster", "partition", "job_id", "after"),
    ),
    AuditAction(
        "nodes.let_go",
        _("Nodes let go"),
        _("No nodes of {partition} are kept for job {job_id} any more. {reason}"),
        ("cluster", "partition", "job_id"),
        ReasonRule.ALWAYS,
    ),
    AuditAction(
        "line.placed",
        _("Line put in order"),
        _("Jobs waiting in {partition} got their place in Slurm's line."),
        ("cluster", "partition", "after"),
    ),
)
