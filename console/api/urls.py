"""Addresses of API v1."""

from django.urls import URLPattern, path, re_path

from console.api import (
    account,
    audit,
    checkpoints,
    cluster,
    config,
    decisions,
    drafts,
    jobs,
    nodes,
    own_tokens,
    partitions,
    pauses,
    plans,
    policies,
    projects,
    schema,
    tallies,
    why,
)
from console.api.base import NoSuchAddress
from console.api.converters import register

register()

urlpatterns: list[URLPattern] = [
    path("account/", account.AccountView.as_view(), name="api-account"),
    path("account/sessions/", account.SessionsView.as_view(), name="api-sessions"),
    path("token/", own_tokens.TokenView.as_view(), name="api-token"),
    path("tokens/", own_tokens.TokenList.as_view(), name="api-tokens"),
    path("tokens/<int:pk>/", own_tokens.TokenDetail.as_view(), name="api-token-detail"),
    path("cluster/", cluster.ClusterView.as_view(), name="api-cluster"),
    path("nodes/", nodes.NodeList.as_view(), name="api-nodes"),
    path("nodes/<name:name>/", nodes.NodeDetail.as_view(), name="api-node"),
    path("jobs/", jobs.JobList.as_view(), name="api-jobs"),
    path("jobs/<name:job_id>/", jobs.JobDetail.as_view(), name="api-job"),
    path("jobs/<name:job_id>/why/", why.JobWhy.as_view(), name="api-job-why"),
    path(
        "jobs/<name:job_id>/checkpoint-token/",
        checkpoints.CheckpointTokenView.as_view(),
        name="api-checkpoint-token",
    ),
    path("checkpoints/", checkpoints.CheckpointView.as_view(), name="api-checkpoints"),
    path("plans/", plans.PlanList.as_view(), name="api-plans"),
    path("plans/<int:pk>/", plans.PlanDetail.as_view(), name="api-plan"),
    path("plans/<int:pk>/snapshot/", plans.PlanSnapshot.as_view(), name="api-plan-snapshot"),
    path("plans/<int:pk>/decision/", decisions.PlanDecision.as_view(), name="api-plan-decision"),
    path("pause/", pauses.PauseAll.as_view(), name="api-pause"),
    path("partitions/", partitions.PartitionList.as_view(), name="api-partitions"),
    path("partitions/<name:name>/", partitions.PartitionDetail.as_view(), name="api-partition"),
    path("partitions/<name:name>/pause/", pauses.PartitionPause.as_view(), name="api-partition-pause"),
    path("partitions/<name:name>/tally/", tallies.PartitionTally.as_view(), name="api-partition-tally"),
    path("partitions/<name:name>/policy/", policies.PolicyView.as_view(), name="api-policy"),
    path("partitions/<name:name>/revisions/", policies.RevisionList.as_view(), name="api-revisions"),
    path(
        "partitions/<name:name>/revisions/<int:number>/",
        policies.RevisionDetail.as_view(),
        name="api-revision",
    ),
    path(
        "partitions/<name:name>/revisions/<int:number>/rollback/",
        drafts.RevisionRollback.as_view(),
        name="api-rollback",
    ),
    path("partitions/<name:name>/drafts/", drafts.DraftList.as_view(), name="api-drafts"),
    path("partitions/<name:name>/drafts/<int:pk>/", drafts.DraftDetail.as_view(), name="api-draft"),
    path(
        "partitions/<name:name>/drafts/<int:pk>/activate/",
        drafts.DraftActivation.as_view(),
        name="api-draft-activate",
    ),
    path("partitions/<name:name>/compare/", drafts.PolicyComparison.as_view(), name="api-compare"),
    path("projects/", projects.ProjectList.as_view(), name="api-projects"),
    path("projects/<name:code>/", projects.ProjectDetail.as_view(), name="api-project"),
    path("audit/", audit.AuditList.as_view(), name="api-audit"),
    path("audit/<int:sequence>/", audit.AuditDetail.as_view(), name="api-audit-entry"),
    path("config/", config.ConfigView.as_view(), name="api-config"),
    path("schema/", schema.SchemaView.as_view(), name="api-schema"),
    path("docs/", schema.DocsView.as_view(), name="api-docs"),
    re_path("", NoSuchAddress.as_view(), name="api-no-such-address"),
]
