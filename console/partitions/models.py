"""A partition's policy, in immutable revisions, and who administers it."""

from django.db import models
from django.utils.translation import gettext_lazy as _

from scheduler.model.policy import Enforcement


class Partition(models.Model):
    """A partition that Giveway steers (or will, once it is observed). `revision` is the policy in force."""

    cluster = models.ForeignKey("cluster.Cluster", on_delete=models.CASCADE, related_name="partitions")
    name = models.CharField(_("name"), max_length=64)
    revision = models.ForeignKey("PolicyRevision", null=True, on_delete=models.PROTECT, related_name="+")

    class Meta:
        ordering = ["name"]
        constraints = [
            models.UniqueConstraint(fields=["cluster", "name"], name="partitions_partition_unique")
        ]

    def __str__(self) -> str:
        return self.name


class PartitionAdmin(models.Model):
    """An account of the console, by name, that administers the partition."""

    partition = models.ForeignKey(Partition, on_delete=models.CASCADE, related_name="admins")
    username = models.CharField(max_length=150)

    class Meta:
        ordering = ["username"]
        constraints = [
            models.UniqueConstraint(fields=["partition", "username"], name="partitions_admin_unique")
        ]
        indexes = [models.Index(fields=["username"])]

    def __str__(self) -> str:
        return self.username


class PolicyRevision(models.Model):
    """One state of a partition's policy; never changed once written.

    `document` is the partition's entry of the priority file (contract B) without `admins`; `enforcement` is a copy
    for queries.
    """

    partition = models.ForeignKey(Partition, on_delete=models.CASCADE, related_name="revisions")
    number = models.PositiveIntegerField()
    document = models.JSONField()
    enforcement = models.CharField(max_length=10, choices=[(e.value, e.value) for e in Enforcement])
    author = models.CharField(max_length=150)
    reason = models.TextField(blank=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["-number"]
        constraints = [
            models.UniqueConstraint(fields=["partition", "number"], name="partitions_revision_unique")
        ]

    def __str__(self) -> str:
        return f"{self.partition} revision {self.number}"
