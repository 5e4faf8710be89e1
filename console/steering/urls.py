"""Plans, a person's decisions on them, incidents, and the switch."""

from django.urls import URLPattern, path

from console.steering.views import approvals, incidents, pauses, plans

urlpatterns: list[URLPattern] = [
    path("plans/", plans.plans, name="plans"),
    path("plans/<int:pk>/", plans.plan, name="plan"),
    path("plans/<int:pk>/decision/", plans.decide, name="plan-decide"),
    path("plans/<int:pk>/snapshot.json", plans.snapshot, name="plan-snapshot"),
    path("approvals/", approvals.approvals, name="approvals"),
    path("incidents/", incidents.incidents, name="incidents"),
    path("incidents/<int:pk>/", incidents.incident, name="incident"),
    path("incidents/<int:pk>/close/", incidents.close, name="incident-close"),
    path("partitions/<str:name>/pause/", pauses.pause, name="pause-partition"),
    path("partitions/<str:name>/resume/", pauses.resume, name="resume-partition"),
    path("pause/", pauses.pause, name="pause-all"),
    path("resume/", pauses.resume, name="resume-all"),
]
