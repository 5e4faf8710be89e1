"""Projects. `new-project` is no `projects/new`: a project may be called `new`."""

from django.urls import URLPattern, path

from console.projects import views

urlpatterns: list[URLPattern] = [
    path("projects/", views.projects, name="projects"),
    path("new-project/", views.new_project, name="new-project"),
    path("propose-project/", views.propose_project, name="propose-project"),
    path("projects/<str:code>/", views.project, name="project"),
    path("projects/<str:code>/delete/", views.delete, name="project-delete"),
    path("projects/<str:code>/history/", views.project_history, name="project-history"),
    path("project-rules/", views.project_rules, name="project-rules"),
    path("project-requests/", views.inbox, name="project-requests"),
    path("project-requests/<int:number>/", views.decide_urgency, name="project-request"),
    path("project-requests/<int:number>/withdraw/", views.withdraw_urgency, name="project-request-withdraw"),
    path("project-proposals/<int:number>/", views.proposal, name="project-proposal"),
    path(
        "project-proposals/<int:number>/withdraw/", views.withdraw_proposal, name="project-proposal-withdraw"
    ),
]
