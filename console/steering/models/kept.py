"""Nodes that are kept for a job that waits."""

from django.db import models


class KeptPlace(models.Model):
    """A job that nodes are kept for, from the first time on until nothing is kept for it any more.

    Moments are the cluster's, epoch seconds. `nodes`: their names. `at`: when the job is expected to start there.
    `since`: when nodes were first kept for it, `moved`: since when these. `until`: when that ends by itself unless it
    is renewed; 0 once nothing is kept any more. `asked`: when the cluster was last asked. `guest_of`: the job whose
    kept nodes these are; empty for that job itself. `refused`: what the cluster said when it would not.
    """

    cluster = models.ForeignKey("cluster.Cluster", on_delete=models.CASCADE, related_name="kept_places")
    partition = models.CharField(max_length=64)
    job_id = models.CharField(max_length=40)
    user = models.CharField(max_length=64)
    nodes = models.JSONField(default=list)
    at = models.BigIntegerField()
    since = models.BigIntegerField()
    until = models.BigIntegerField()
    moved = models.BigIntegerField()
    asked = models.BigIntegerField()
    guest_of = models.CharField(max_length=40, blank=True)
    refused = models.TextField(blank=True)

    class Meta:
        ordering = ["job_id"]
        constraints = [
            models.UniqueConstraint(fields=["cluster", "job_id"], name="steering_one_kept_place_per_job")
        ]

    def __str__(self) -> str:
        return f"{self.job_id}: {', '.join(self.nodes)}"
