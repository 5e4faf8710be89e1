"""The tally of shadow, whole histories, and a project's levels and work."""

from django.urls import URLPattern, path

from console.reports import views

urlpatterns: list[URLPattern] = [
    path("partitions/<str:name>/shadow/", views.shadow, name="partition-shadow"),
    path("history/jobs/<str:job_id>/", views.whole_job_history, name="job-whole-history"),
    path("history/projects/<str:code>/", views.whole_project_history, name="project-whole-history"),
    path("when/", views.when, name="when"),
    path("forecasts/", views.forecasts, name="forecasts"),
    path("projects/<str:code>/levels/", views.levels, name="project-levels"),
    path("projects/<str:code>/work/", views.work, name="project-work"),
]
