"""Everything a person may be allowed to do, a sentence each; who may is said in each app's `rules.py`.

Check with `user.has_perm(Permission.PROJECT_CHANGE, project)`, the same in pages and API. Reading something
that is not yours answers 404 (it is not there for you), writing what you may only read answers 403.
"""

from enum import StrEnum


class Permission(StrEnum):
    """A permission; the value is the name that `has_perm` takes."""

    PARTITION_VIEW = "partitions.view"
    POLICY_VIEW = "partitions.view_policy"
    POLICY_CHANGE = "partitions.change_policy"
    JOB_VIEW = "cluster.view_job"
    PLAN_VIEW = "steering.view_plan"
    PLAN_DECIDE = "steering.decide_plan"
    PAUSE_PARTITION = "steering.pause_partition"
    PAUSE_ALL = "steering.pause_all"
    INCIDENT_CLOSE = "steering.close_incident"
    NODE_DRAIN = "power.drain_node"
    CHECKPOINT_TELL = "steering.tell_checkpoint"
    PROJECT_VIEW = "projects.view"
    PROJECT_CHANGE = "projects.change"
    PROJECT_CREATE = "projects.create"
    PROJECT_PROPOSE = "projects.propose"
    PROJECT_DELETE = "projects.delete"
    PROJECT_RULES = "projects.change_rules"
    REQUEST_DECIDE = "projects.decide_request"
    AUDIT_VIEW = "audit.view"
    AUDIT_VIEW_ALL = "audit.view_all"
    INSTALLATION_SET_UP = "setup.change"
    PEOPLE_VIEW = "accounts.view_people"
    PEOPLE_CHANGE = "accounts.change_people"
    STUDY_VIEW = "history.view_study"
    STUDY_CANCEL = "history.cancel_study"
    CONFIG_EXPORT = "config.export"
    CONFIG_IMPORT = "config.import"


SENTENCES: dict[Permission, str] = {
    Permission.PARTITION_VIEW: "See partitions, their nodes and who is in them.",
    Permission.POLICY_VIEW: "See a partition's policy and its earlier revisions.",
    Permission.POLICY_CHANGE: (
        "Change a partition's policy: mode, levels, keywords, quotas, overrides, enforcement."
    ),
    Permission.JOB_VIEW: "See jobs, their levels and why they wait.",
    Permission.PLAN_VIEW: "See plans: who was stopped for whom, and why.",
    Permission.PLAN_DECIDE: "Approve or reject a plan of a partition that asks for it.",
    Permission.PAUSE_PARTITION: "Pause a partition, so that nobody is stopped there, and lift the pause.",
    Permission.PAUSE_ALL: "Pause the whole installation, and lift the pause.",
    Permission.INCIDENT_CLOSE: "Close an incident of a partition: a stopped job that did not come back.",
    Permission.NODE_DRAIN: (
        "Drain a node with a slow processor, put back what was drained so, or leave it as it is: who looks after all "
        "partitions of the node."
    ),
    Permission.CHECKPOINT_TELL: "Tell that a job has saved its state (the job's own user only).",
    Permission.PROJECT_VIEW: "See a project with its size, grade, urgency, members and task patterns.",
    Permission.PROJECT_CHANGE: "Change a project's size, grade, urgency, members and task patterns.",
    Permission.PROJECT_CREATE: "Create projects.",
    Permission.PROJECT_PROPOSE: "Propose a new project, for an administrator to accept or reject.",
    Permission.PROJECT_DELETE: "Delete projects.",
    Permission.PROJECT_RULES: "Set the schedule of urgency and the limits for managers, and not be bound by them.",
    Permission.REQUEST_DECIDE: "Approve or reject what a manager asks for: an urgency, a new project.",
    Permission.AUDIT_VIEW: "Read the audit log's rows about one's own partitions and projects.",
    Permission.AUDIT_VIEW_ALL: "Read the whole audit log.",
    Permission.INSTALLATION_SET_UP: "Set the installation up: read the doctor, import from Slurm, invite people.",
    Permission.PEOPLE_VIEW: "See who has an account, what is theirs, when they last signed in, and their API tokens.",
    Permission.PEOPLE_CHANGE: "Change accounts of others, switch them off, sign them out, take back their API tokens.",
    Permission.STUDY_VIEW: (
        "See what a change would have done, in a study: one's own, those of finished jobs in one's partitions, or all "
        "for who reads everything."
    ),
    Permission.STUDY_CANCEL: "Cancel a study: one's own, one of a partition of one's own, or any for an administrator.",
    Permission.CONFIG_EXPORT: "Export the priority file.",
    Permission.CONFIG_IMPORT: "Import a priority file.",
}
