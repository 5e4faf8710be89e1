"""Projects. `new-project` is no `projects/new`: a project may be called `new`."""

from django.urls import URLPattern, path

from console.projects import views

urlpatterns: list[URLPattern] = [
    path("projects/", views.projects, name="projects"),
    path("new-project/", views.new_project, name="new-project"),
    path("projects/<str:code>/", views.project, name="project"),
    path("projects/<str:code>/delete/", views.delete, name="project-delete"),
]
