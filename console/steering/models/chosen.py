"""Jobs that Giveway starts on chosen nodes."""

from django.db import models

from console.core.sentence_field import SentenceField


class ChosenPlace(models.Model):
    """A job that is to start on nodes of equal compute power, from when that was seen until it has left or is put back.

    Moments are the cluster's, epoch seconds. `nodes`: the chosen ones, none as long as it has to wait; `explain`: the
    decision on them. `begun`: when it was allowed to begin there; 0 before. `got`: where it was then seen running.
    """

    cluster = models.ForeignKey("cluster.Cluster", on_delete=models.CASCADE, related_name="chosen_places")
    partition = models.CharField(max_length=64)
    job_id = models.CharField(max_length=40)
    user = models.CharField(max_length=64)
    since = models.BigIntegerField()
    nodes = models.JSONField(default=list)
    explain = SentenceField(blank=True)
    begun = models.BigIntegerField(default=0)
    got = models.JSONField(default=list)

    class Meta:
        ordering = ["job_id"]
        constraints = [
            models.UniqueConstraint(fields=["cluster", "job_id"], name="steering_one_chosen_place_per_job")
        ]

    def __str__(self) -> str:
        return f"{self.job_id}: {', '.join(self.nodes)}"
