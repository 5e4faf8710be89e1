"""A partition's policy. The partition itself, as it is now, is a page of the overview."""

from django.urls import URLPattern, path

from console.partitions import views

urlpatterns: list[URLPattern] = [
    path("partitions/<str:name>/policy/", views.policy, name="partition-policy"),
    path("partitions/<str:name>/revisions/", views.revisions, name="partition-revisions"),
]
