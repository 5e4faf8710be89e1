"""Addresses that belong to no other app: liveness and readiness."""

from django.urls import path

from console.core import views

urlpatterns = [
    path("livez", views.livez, name="livez"),
    path("readyz", views.readyz, name="readyz"),
]
