"""What Giveway has to do with a job's place in Slurm's line."""

from django.db import models


class LinePlace(models.Model):
    """A job whose nice is, or was, partly Giveway's, or whose place is kept. From the first time on until it has ended.

    `own_nice`: what of its nice is its user's. `nice`: the whole, as it was last seen or asked for. `asked_from`: the
    nice that it had when another one was asked for; None once that was seen. `attempts`: how often that was, in a row.
    `kept`: Slurm's priority without any nice, from before the job was stopped or put first. `unsettled`: Slurm was
    asked to compute its priority anew, so whatever nice is seen next is not its user's doing.
    """

    cluster = models.ForeignKey("cluster.Cluster", on_delete=models.CASCADE, related_name="line_places")
    job_id = models.CharField(max_length=40)
    partition = models.CharField(max_length=64)
    user = models.CharField(max_length=64)
    own_nice = models.BigIntegerField(default=0)
    nice = models.BigIntegerField(default=0)
    asked_from = models.BigIntegerField(null=True)
    attempts = models.PositiveSmallIntegerField(default=0)
    kept = models.BigIntegerField(null=True)
    unsettled = models.BooleanField(default=False)

    class Meta:
        ordering = ["job_id"]
        constraints = [
            models.UniqueConstraint(fields=["cluster", "job_id"], name="steering_one_line_place_per_job")
        ]

    def __str__(self) -> str:
        return f"{self.job_id}: nice {self.nice}"

    @property
    def given(self) -> int:
        """What of its nice is Giveway's."""
        return self.nice - self.own_nice
