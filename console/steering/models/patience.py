"""Jobs for which nobody is stopped because they are forecast to start by themselves."""

from django.db import models


class Patience(models.Model):
    """A job that waits for such a start.

    `since`: the cluster's second in which that was first said; its patience counts from there. `at`: when it was to
    start, as it was said then. `version`: of the model that said so, empty for the plain weights.
    """

    cluster = models.ForeignKey("cluster.Cluster", on_delete=models.CASCADE, related_name="patience")
    partition = models.CharField(max_length=64)
    job_id = models.CharField(max_length=40)
    since = models.BigIntegerField()
    at = models.BigIntegerField()
    version = models.CharField(max_length=12, blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["cluster", "partition", "job_id"], name="steering_one_patience_per_job"
            )
        ]

    def __str__(self) -> str:
        return f"{self.job_id} in {self.partition} since {self.since}"
