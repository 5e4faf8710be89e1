"""A partition's policy. The partition itself as it is now, and its quotas with their use, are pages of the overview."""

from django.urls import URLPattern, path

from console.partitions.views import comparing, drafts, policy

urlpatterns: list[URLPattern] = [
    path("partitions/<str:name>/policy/", policy.policy, name="partition-policy"),
    path("partitions/<str:name>/revisions/", policy.revisions, name="partition-revisions"),
    path("partitions/<str:name>/drafts/<int:pk>/", drafts.draft, name="partition-draft"),
    path("partitions/<str:name>/drafts/<int:pk>/delete/", drafts.delete, name="partition-draft-delete"),
    path("partitions/<str:name>/compare/", comparing.compare, name="partition-compare"),
    path("partitions/<str:name>/activate/", comparing.activate, name="partition-activate"),
]
