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
    source = models.CharField(max_length=120, blank=True)
    """What it was made from, in words, when not from the form: a draft or an earlier revision."""
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["-number"]
        constraints = [
            models.UniqueConstraint(fields=["partition", "number"], name="partitions_revision_unique")
        ]

    def __str__(self) -> str:
        return f"{self.partition} revision {self.number}"


class PolicyDraft(models.Model):
    """A policy that is not in force. Whoever may change the partition's policy may change its drafts, too.

    `based_on` is the revision that was in force when it was begun; `version` grows with every change.
    """

    partition = models.ForeignKey(Partition, on_delete=models.CASCADE, related_name="drafts")
    name = models.CharField(_("name"), max_length=80)
    document = models.JSONField()
    based_on = models.PositiveIntegerField()
    version = models.PositiveIntegerField(default=1)
    authors = models.JSONField(default=list)
    """Who has saved it, in the order in which they first did."""
    reason = models.TextField(blank=True)
    created_at = models.DateTimeField(auto_now_add=True)
    changed_at = models.DateTimeField(auto_now=True)

    class Meta:
        ordering = ["name"]
        constraints = [models.UniqueConstraint(fields=["partition", "name"], name="partitions_draft_unique")]

    def __str__(self) -> str:
        return self.name

    @property
    def key(self) -> str:
        """How the address of a comparison names it."""
        return f"draft-{self.pk}"
