"""All addresses of the console; each app brings its own."""

from django.urls import URLPattern, URLResolver, include, path

urlpatterns: list[URLPattern | URLResolver] = [
    path("", include("console.health.urls")),
    path("", include("console.accounts.urls")),
    path("", include("console.setup.urls")),
    path("", include("console.people.urls")),
    path("", include("console.overview.urls")),
    path("", include("console.steering.urls")),
    path("", include("console.reports.urls")),
    path("", include("console.history.urls")),
    path("", include("console.insights.urls")),
    path("", include("console.partitions.urls")),
    path("", include("console.power.urls")),
    path("", include("console.projects.urls")),
    path("", include("console.audit.urls")),
    path("api/v1/", include("console.api.urls")),
]
handler500 = "console.core.error_pages.fault"
