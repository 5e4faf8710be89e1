"""A partition's policy. The partition itself as it is now, and its quotas with their use, are pages of the overview."""

from django.urls import URLPattern, path

from console.partitions import views

urlpatterns: list[URLPattern] = [
    path("partitions/<str:name>/policy/", views.policy, name="partition-policy"),
    path("partitions/<str:name>/revisions/", views.revisions, name="partition-revisions"),
    path("partitions/<str:name>/drafts/<int:pk>/", views.draft, name="partition-draft"),
    path("partitions/<str:name>/drafts/<int:pk>/delete/", views.delete, name="partition-draft-delete"),
    path("partitions/<str:name>/compare/", views.compare, name="partition-compare"),
    path("partitions/<str:name>/activate/", views.activate, name="partition-activate"),
]
