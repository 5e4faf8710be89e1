"""Projects. `new-project` is no `projects/new`: a project may be called `new`."""

from django.urls import URLPattern, path

from console.projects.views import history, project, proposals, requests, rules

urlpatterns: list[URLPattern] = [
    path("projects/", project.projects, name="projects"),
    path("new-project/", project.new_project, name="new-project"),
    path("propose-project/", proposals.propose_project, name="propose-project"),
    path("projects/<str:code>/", project.project, name="project"),
    path("projects/<str:code>/delete/", project.delete, name="project-delete"),
    path("projects/<str:code>/history/", history.project_history, name="project-history"),
    path("project-rules/", rules.project_rules, name="project-rules"),
    path("project-requests/", requests.inbox, name="project-requests"),
    path("project-requests/<int:number>/", requests.decide, name="project-request"),
    path("project-requests/<int:number>/withdraw/", requests.withdraw, name="project-request-withdraw"),
    path("project-proposals/<int:number>/", proposals.proposal, name="project-proposal"),
    path("project-proposals/<int:number>/withdraw/", proposals.withdraw, name="project-proposal-withdraw"),
]
