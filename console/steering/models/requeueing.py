"""Jobs that Slurm does not requeue: since when, whether it was so from the beginning, and what was done about it."""

from django.db import models


class NotRequeued(models.Model):
    """A job that is not requeued, as far back as the cycles have seen it.

    `was_requeueable`: an earlier cycle saw it requeueable. `since`: the cluster's second in which it was first seen as
    it is. `restored_at`: when it was seen requeueable again; the row stays, so that taking turns with its user gets
    slower. `attempts`, `issued_at`, `outcome`, `detail`: of our making it requeueable again; what is issued without an
    outcome was not heard of again. `gone_at`: since when it is no longer seen.
    """

    cluster = models.ForeignKey("cluster.Cluster", on_delete=models.CASCADE, related_name="not_requeued")
    job_id = models.CharField(max_length=40)
    user = models.CharField(max_length=64)
    was_requeueable = models.BooleanField(default=False)
    since = models.BigIntegerField()
    restored_at = models.DateTimeField(null=True)
    attempts = models.PositiveIntegerField(default=0)
    issued_at = models.DateTimeField(null=True)
    outcome = models.CharField(max_length=10, blank=True)
    detail = models.TextField(blank=True)
    gone_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["id"]
        constraints = [
            models.UniqueConstraint(fields=["cluster", "job_id"], name="steering_one_not_requeued_per_job")
        ]

    def __str__(self) -> str:
        return f"{self.job_id} is not requeued"
