"""The audit log."""

from django.urls import URLPattern, path

from console.audit import views

urlpatterns: list[URLPattern] = [
    path("audit/", views.log, name="audit"),
    path("audit/verify/", views.verify, name="audit-verify"),
]
