"""The tally of shadow, whole histories, and a project's levels and work."""

from django.urls import URLPattern, path

from console.reports.views import forecasts, history, project, shadow, when

urlpatterns: list[URLPattern] = [
    path("partitions/<str:name>/shadow/", shadow.shadow, name="partition-shadow"),
    path("history/jobs/<str:job_id>/", history.job, name="job-whole-history"),
    path("history/projects/<str:code>/", history.project, name="project-whole-history"),
    path("when/", when.when, name="when"),
    path("forecasts/", forecasts.forecasts, name="forecasts"),
    path("projects/<str:code>/levels/", project.levels, name="project-levels"),
    path("projects/<str:code>/work/", project.work, name="project-work"),
]
