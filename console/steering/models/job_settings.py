"""What Giveway has to do with a job's place in Slurm's line."""

from django.db import models

from console.core.sentence_field import SentenceField


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


# Jobs that Giveway starts on chosen nodes.


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


# Nodes that are kept for a job that waits.


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


# Jobs that Slurm does not requeue: since when, whether it was so from the beginning, and what was done about it.


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


# Jobs for which nobody is stopped because they are forecast to start by themselves.


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
