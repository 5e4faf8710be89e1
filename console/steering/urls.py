"""Plans."""

from django.urls import URLPattern, path

from console.steering import views

urlpatterns: list[URLPattern] = [
    path("plans/", views.plans, name="plans"),
    path("plans/<int:pk>/", views.plan, name="plan"),
    path("plans/<int:pk>/snapshot.json", views.snapshot, name="plan-snapshot"),
]
