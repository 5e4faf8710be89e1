"""Incidents: a job that was stopped and did not come back."""

from django.db import models
from django.utils.translation import gettext_lazy as _

from console.core.sentence_field import SentenceField
from console.steering.models.victims import Victim


class IncidentKind(models.TextChoices):
    """In which way it did not come back."""

    FAILED = "failed", _("It failed and was not put back")
    GONE = "gone", _("It is gone without a trace")
    AT_ONCE = "at_once", _("It ended within a minute of its return")
    LAUNCH = "launch", _("Slurm could not start it again")


class Incident(models.Model):
    """A victim that did not come back. It stays open until a person closes it with a reason, or the job is seen again.

    `counts`: it counts towards the pause of its partition; not any more once somebody has resumed that.
    """

    cluster = models.ForeignKey("cluster.Cluster", on_delete=models.CASCADE, related_name="incidents")
    partition = models.CharField(max_length=64)
    victim = models.ForeignKey(Victim, on_delete=models.CASCADE, related_name="incidents")
    kind = models.CharField(max_length=10, choices=IncidentKind.choices)
    job_id = models.CharField(max_length=40)
    job_name = models.TextField(blank=True)
    user = models.CharField(max_length=64, blank=True)
    plan = models.PositiveBigIntegerField()
    beneficiary = models.CharField(max_length=40)
    """The job that it was stopped for."""
    words = SentenceField()
    opened_at = models.DateTimeField()
    counts = models.BooleanField(default=True)
    closed_at = models.DateTimeField(null=True)
    closed_by = models.CharField(max_length=150, blank=True)
    close_reason = SentenceField(blank=True)

    class Meta:
        ordering = ["-id"]
        constraints = [
            models.UniqueConstraint(fields=["victim", "kind"], name="steering_one_incident_per_victim"),
            models.CheckConstraint(
                condition=models.Q(kind__in=IncidentKind.values), name="steering_incident_kind_known"
            ),
        ]
        indexes = [
            models.Index(fields=["cluster", "closed_at"]),
            models.Index(fields=["cluster", "partition", "-id"]),
            models.Index(fields=["cluster", "job_id"]),
        ]

    def __str__(self) -> str:
        return f"incident {self.pk}"
