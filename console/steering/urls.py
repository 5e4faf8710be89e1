"""Plans, a person's decisions on them, incidents, and the switch."""

from django.urls import URLPattern, path

from console.steering import views

urlpatterns: list[URLPattern] = [
    path("plans/", views.plans, name="plans"),
    path("plans/<int:pk>/", views.plan, name="plan"),
    path("plans/<int:pk>/decision/", views.decide, name="plan-decide"),
    path("plans/<int:pk>/snapshot.json", views.snapshot, name="plan-snapshot"),
    path("approvals/", views.approvals, name="approvals"),
    path("incidents/", views.incidents, name="incidents"),
    path("incidents/<int:pk>/", views.incident, name="incident"),
    path("incidents/<int:pk>/close/", views.close, name="incident-close"),
    path("partitions/<str:name>/pause/", views.pause, name="pause-partition"),
    path("partitions/<str:name>/resume/", views.resume, name="resume-partition"),
    path("pause/", views.pause, name="pause-all"),
    path("resume/", views.resume, name="resume-all"),
]
