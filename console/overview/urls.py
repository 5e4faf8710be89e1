"""Pages that bring several apps together."""

from django.urls import URLPattern, path

from console.overview.views import home, jobs, partition

urlpatterns: list[URLPattern] = [
    path("", home.overview, name="overview"),
    path("help/", home.help_page, name="help"),
    path("partitions/<str:name>/", partition.partition_now, name="partition"),
    path("jobs/", jobs.jobs, name="jobs"),
    path("jobs/<str:job_id>/", jobs.job, name="job"),
]
