"""Addresses for machines that watch."""

from django.urls import path

from console.health import views

urlpatterns = [
    path("livez", views.livez, name="livez"),
    path("readyz", views.readyz, name="readyz"),
    path("healthz/web", views.web, name="healthz-web"),
    path("healthz/cycle", views.cycle, name="healthz-cycle"),
    path("metrics", views.metrics, name="metrics"),
]
