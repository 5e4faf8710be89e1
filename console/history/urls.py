"""What if, asked from the forms of other pages."""

from django.urls import URLPattern, path

from console.history import views

urlpatterns: list[URLPattern] = [
    path("partitions/<str:name>/what-if/", views.policy, name="policy-what-if"),
    path("partitions/<str:name>/task-types-trial/", views.task_types, name="task-types-trial"),
    path("partitions/<str:name>/quotas/what-if/", views.quotas, name="quotas-what-if"),
    path("projects/<str:code>/what-if/", views.project, name="project-what-if"),
    path("new-project/what-if/", views.new_project, name="new-project-what-if"),
    path("project-requests/<int:number>/what-if/", views.asked_urgency, name="request-what-if"),
    path("priority-file/what-if/", views.priority_file, name="priority-file-what-if"),
    path("partitions/<str:name>/hindsight/", views.hindsight, name="partition-hindsight"),
    path("studies/", views.studies, name="studies"),
    path("studies/<int:pk>/", views.study, name="study"),
    path("studies/<int:pk>/cancel/", views.study_cancel, name="study-cancel"),
]
