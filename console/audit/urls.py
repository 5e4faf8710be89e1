"""The audit log."""

from django.urls import URLPattern, path

from console.audit import views

urlpatterns: list[URLPattern] = [
    path("audit/", views.log, name="audit"),
    path("audit/<int:sequence>/", views.entry, name="audit-entry"),
    path("audit/verify/", views.verify, name="audit-verify"),
    path("audit/export/", views.export_log, name="audit-export"),
    path("audit/searches/", views.save_search, name="audit-save-search"),
    path("audit/searches/<int:pk>/delete/", views.delete_search, name="audit-delete-search"),
]
