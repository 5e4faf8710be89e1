"""Beneficiaries that ended badly as soon as they had started: in vain, others were stopped for them."""

from django.db import models

from console.steering.models.plans import Plan


class FailedStart(models.Model):
    """One run of a beneficiary that was back in the queue within a minute of its start, by nobody's stop of ours.

    `ran_well_at`: when a later run of it had gone on for a minute; from then on it counts no more.
    """

    plan = models.ForeignKey(Plan, on_delete=models.CASCADE, related_name="failed_starts")
    cluster = models.ForeignKey("cluster.Cluster", on_delete=models.CASCADE, related_name="failed_starts")
    job_id = models.CharField(max_length=40)
    run_restarts = models.PositiveIntegerField()
    at = models.DateTimeField()
    ran_well_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["id"]
        constraints = [
            models.UniqueConstraint(
                fields=["plan", "job_id", "run_restarts"], name="steering_one_failed_start_per_run"
            )
        ]
        indexes = [models.Index(fields=["cluster", "ran_well_at"])]

    def __str__(self) -> str:
        return f"failed start of {self.job_id}"
