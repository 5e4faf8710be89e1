"""Plans, a person's decisions on them, the tally of shadow, and the switch."""

from django.urls import URLPattern, path

from console.steering.views import approvals, history, incidents, pauses, plans, project, shadow

urlpatterns: list[URLPattern] = [
    path("plans/", plans.plans, name="plans"),
    path("plans/<int:pk>/", plans.plan, name="plan"),
    path("plans/<int:pk>/decision/", plans.decide, name="plan-decide"),
    path("plans/<int:pk>/snapshot.json", plans.snapshot, name="plan-snapshot"),
    path("approvals/", approvals.approvals, name="approvals"),
    path("incidents/", incidents.incidents, name="incidents"),
    path("incidents/<int:pk>/", incidents.incident, name="incident"),
    path("incidents/<int:pk>/close/", incidents.close, name="incident-close"),
    path("partitions/<str:name>/shadow/", shadow.shadow, name="partition-shadow"),
    path("partitions/<str:name>/pause/", pauses.pause, name="pause-partition"),
    path("partitions/<str:name>/resume/", pauses.resume, name="resume-partition"),
    path("history/jobs/<str:job_id>/", history.job, name="job-whole-history"),
    path("history/projects/<str:code>/", history.project, name="project-whole-history"),
    path("projects/<str:code>/levels/", project.levels, name="project-levels"),
    path("projects/<str:code>/work/", project.work, name="project-work"),
    path("pause/", pauses.pause, name="pause-all"),
    path("resume/", pauses.resume, name="resume-all"),
]
