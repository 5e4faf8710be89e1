"""The audit log: rows are only ever added, each carries the hash of the one before it.

Besides the code, database triggers refuse UPDATE and DELETE (see the migration). Labels are stored as text so that
a row stays readable when what it speaks of is gone. There are no foreign keys on purpose.
"""

from django.db import models


class AuditEntry(models.Model):
    """One thing that was decided or done. Written by `console.audit.services.record` alone."""

    sequence = models.PositiveBigIntegerField(unique=True)
    at = models.DateTimeField()
    actor = models.CharField(max_length=150)
    """Account name of the person, or `giveway` for the system itself."""
    action = models.CharField(max_length=60)
    object_type = models.CharField(max_length=40)
    object_id = models.CharField(max_length=100)
    object_label = models.CharField(max_length=300)
    cluster = models.CharField(max_length=64, blank=True)
    partition = models.CharField(max_length=64, blank=True)
    project = models.CharField(max_length=64, blank=True)
    job_id = models.CharField(max_length=40, blank=True)
    before = models.JSONField(null=True)
    after = models.JSONField(null=True)
    reason = models.TextField(blank=True)
    cycle = models.PositiveBigIntegerField(null=True)
    plan = models.PositiveBigIntegerField(null=True)
    policy_revision = models.PositiveIntegerField(null=True)
    request_id = models.CharField(max_length=32, blank=True)
    previous_hash = models.CharField(max_length=64)
    hash = models.CharField(max_length=64, unique=True)

    class Meta:
        ordering = ["-sequence"]
        indexes = [
            models.Index(fields=["at"]),
            models.Index(fields=["actor", "sequence"]),
            models.Index(fields=["action", "sequence"]),
            models.Index(fields=["partition", "sequence"]),
            models.Index(fields=["project", "sequence"]),
            models.Index(fields=["job_id", "sequence"]),
        ]

    def __str__(self) -> str:
        return f"{self.sequence} {self.at:%F %T} {self.actor} {self.action} {self.object_label}"


class AuditHead(models.Model):
    """The last row's number and hash: one row, locked while the log is appended to, so that the chain has no fork."""

    sequence = models.PositiveBigIntegerField(default=0)
    hash = models.CharField(max_length=64)
