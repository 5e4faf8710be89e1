"""Addresses of API v1."""

from typing import Any

from django.urls import path, re_path
from rest_framework.routers import SimpleRouter

from console.api import (
    accounts,
    audit,
    charts,
    cluster,
    forecasts,
    insights,
    installation,
    jobs,
    partitions,
    plans,
    power,
    projects,
    studies,
)
from console.api.base import DocsView, NoSuchAddress, SchemaView, register

register()

router = SimpleRouter(use_regex_path=False)
router.register("people", accounts.People, "api-people")
router.register("tokens", accounts.OwnTokens, "api-tokens")
router.register("invitations", installation.Invitations, "api-invitations")
router.register("nodes", cluster.Nodes, "api-nodes")
router.register("jobs", jobs.Jobs, "api-jobs")
router.register("plans", plans.Plans, "api-plans")
router.register("incidents", plans.Incidents, "api-incidents")
router.register("partitions", partitions.Partitions, "api-partitions")
router.register("partitions/<name:name>/revisions", partitions.Revisions, "api-revisions")
router.register("partitions/<name:name>/drafts", partitions.Drafts, "api-drafts")
router.register("projects", projects.Projects, "api-projects")
router.register("project-requests", projects.Requests, "api-project-requests")
router.register("project-proposals", projects.Proposals, "api-project-proposals")
router.register("audit", audit.AuditEntries, "api-audit")
router.register("studies", studies.Studies, "api-studies")

PARTITION = "partitions/<name:name>/"
JOB = "jobs/<name:job_id>/"
urlpatterns: list[Any] = [
    *router.urls,
    path("account/", accounts.AccountView.as_view(), name="api-account"),
    path("account/sessions/", accounts.SessionsView.as_view(), name="api-sessions"),
    path("account/password/", accounts.PasswordView.as_view(), name="api-account-password"),
    path("setup/", installation.SetupView.as_view(), name="api-setup"),
    path("token/", accounts.TokenView.as_view(), name="api-token"),
    path("cluster/", cluster.ClusterView.as_view(), name="api-cluster"),
    path("needs/", cluster.NeedsView.as_view(), name="api-needs"),
    path(JOB + "why/", jobs.JobWhy.as_view(), name="api-job-why"),
    path(JOB + "checkpoint-token/", jobs.CheckpointTokenView.as_view(), name="api-checkpoint-token"),
    path("measurements/", power.MeasurementView.as_view(), name="api-measurements"),
    path(PARTITION + "power/", power.PowerView.as_view(), name="api-power"),
    path(PARTITION + "power/rule/", power.RuleView.as_view(), name="api-power-rule"),
    path(PARTITION + "power/drivers/", power.DriversView.as_view(), name="api-power-drivers"),
    path(PARTITION + "power/losses/", power.ProjectLossList.as_view(), name="api-power-losses"),
    path(
        PARTITION + "power/incidents/",
        power.PowerIncidents.as_view({"get": "list"}),
        name="api-power-incidents",
    ),
    path(
        PARTITION + "power/incidents/<int:pk>/drain/",
        power.PowerIncidents.as_view({"post": "drain"}),
        name="api-power-incident-drain",
    ),
    path(
        PARTITION + "power/incidents/<int:pk>/put-back/",
        power.PowerIncidents.as_view({"post": "put_back"}),
        name="api-power-incident-put-back",
    ),
    path(
        PARTITION + "power/incidents/<int:pk>/leave/",
        power.PowerIncidents.as_view({"post": "leave"}),
        name="api-power-incident-leave",
    ),
    path(PARTITION + "power/measurements/", power.MeasureNowView.as_view(), name="api-power-measurements"),
    path("checkpoints/", jobs.CheckpointView.as_view(), name="api-checkpoints"),
    path(JOB + "forecast/", forecasts.JobForecastView.as_view(), name="api-job-forecast"),
    path(JOB + "start/", forecasts.JobStartView.as_view(), name="api-job-start"),
    path(JOB + "stop-chance/", forecasts.JobStopChanceView.as_view(), name="api-job-stop-chance"),
    path("starts/", forecasts.StartList.as_view(), name="api-starts"),
    path("start-questions/", forecasts.StartQuestionList.as_view(), name="api-start-questions"),
    path("start-questions/<int:pk>/", forecasts.StartQuestionDetail.as_view(), name="api-start-question"),
    path("forecasts/", forecasts.ForecastsView.as_view(), name="api-forecasts"),
    path("insights/", insights.InsightsView.as_view(), name="api-insights"),
    path("insights/<name:question>.csv", insights.InsightsFile.as_view(), name="api-insights-file"),
    path("my-jobs/", jobs.MyJobs.as_view(), name="api-my-jobs"),
    path("pause/", plans.PauseAll.as_view(), name="api-pause"),
    path(PARTITION + "pause/", plans.PartitionPause.as_view(), name="api-partition-pause"),
    path(PARTITION + "timeline/", charts.PartitionTimeline.as_view(), name="api-partition-timeline"),
    path(PARTITION + "lanes/", charts.PartitionLanes.as_view(), name="api-partition-lanes"),
    path(PARTITION + "squares/", charts.PartitionSquares.as_view(), name="api-partition-squares"),
    path(PARTITION + "tally/", charts.PartitionTally.as_view(), name="api-partition-tally"),
    path(PARTITION + "hindsight/", studies.PartitionHindsight.as_view(), name="api-partition-hindsight"),
    path(PARTITION + "policy/", partitions.PolicyView.as_view(), name="api-policy"),
    path(PARTITION + "quotas/", partitions.QuotaUseList.as_view(), name="api-quotas"),
    path(PARTITION + "quotas/timeline/", charts.QuotaTimesView.as_view(), name="api-quota-times"),
    path(PARTITION + "compare/", partitions.PolicyComparison.as_view(), name="api-compare"),
    path("projects/<name:code>/levels/", projects.ProjectLevels.as_view(), name="api-project-levels"),
    path("projects/<name:code>/work/", projects.ProjectWorkView.as_view(), name="api-project-work"),
    path("project-rules/", projects.RulesView.as_view(), name="api-project-rules"),
    path("audit/export/", audit.AuditExport.as_view(), name="api-audit-export"),
    path("audit/chain/", audit.ChainView.as_view(), name="api-audit-chain"),
    path("audit/searches/", audit.SearchList.as_view(), name="api-audit-searches"),
    path("audit/searches/<int:pk>/", audit.SearchDetail.as_view(), name="api-audit-search"),
    path(JOB + "history/", audit.JobHistory.as_view(), name="api-job-history"),
    path("projects/<name:code>/history/", audit.ProjectHistory.as_view(), name="api-project-history"),
    path("what-if/", studies.WhatIf.as_view(), name="api-what-if"),
    path("studies/<int:pk>.csv", studies.StudyFile.as_view(), name="api-study-file"),
    path("config/", installation.ConfigView.as_view(), name="api-config"),
    path("schema/", SchemaView.as_view(), name="api-schema"),
    path("docs/", DocsView.as_view(), name="api-docs"),
    re_path("", NoSuchAddress.as_view(), name="api-no-such-address"),
]
