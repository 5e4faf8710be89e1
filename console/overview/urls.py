"""Pages that bring several apps together."""

from django.urls import URLPattern, path

from console.overview.views import home, jobs, partition, priority_file, quotas, timeline

urlpatterns: list[URLPattern] = [
    path("", home.overview, name="overview"),
    path("help/", home.help_page, name="help"),
    path("partitions/<str:name>/", partition.partition_now, name="partition"),
    path("partitions/<str:name>/timeline/", timeline.partition_timeline, name="partition-timeline"),
    path("partitions/<str:name>/quotas/", quotas.quotas, name="partition-quotas"),
    path("levels-preview/", home.levels_preview, name="levels-preview"),
    path("nodes/<str:node_name>/", home.node, name="node"),
    path("users/<path:user_name>/", jobs.user, name="user"),
    path("my-jobs/", jobs.mine, name="my-jobs"),
    path("jobs/", jobs.jobs, name="jobs"),
    path("jobs/<str:job_id>/", jobs.job, name="job"),
    path("priority-file/", priority_file.priority_file, name="priority-file"),
    path("priority-file/export.json", priority_file.export, name="priority-file-export"),
    path("priority-file/propose/", priority_file.propose, name="priority-file-propose"),
    path("priority-file/confirm/", priority_file.confirm, name="priority-file-confirm"),
]
