"""What the victims saved before they were stopped, and where they went on."""

from django.db import models
from django.utils.translation import gettext_lazy as _

from console.steering.models.plans import Plan


class Via(models.TextChoices):
    """How a job told that its checkpoint is done."""

    COMMENT = "comment", _("Its comment")
    API = "api", _("A call to the API")


class Checkpoint(models.Model):
    """One run of a victim that was asked to save its state.

    `comment_before`: its comment when it was asked, so that only a new one counts. `saved`: what it says that it saved
    (`epoch=10`), hostile input. `resumed_…`: its next run, once seen.
    """

    plan = models.ForeignKey(Plan, on_delete=models.CASCADE, related_name="checkpoints")
    cluster = models.ForeignKey("cluster.Cluster", on_delete=models.CASCADE, related_name="checkpoints")
    job_id = models.CharField(max_length=40)
    run_start = models.BigIntegerField()
    run_restarts = models.PositiveIntegerField()
    user = models.CharField(max_length=64)
    asked_at = models.DateTimeField()
    comment_before = models.TextField(blank=True)
    acknowledged_at = models.DateTimeField(null=True)
    via = models.CharField(max_length=10, choices=Via.choices, blank=True)
    saved = models.CharField(max_length=200, blank=True)
    resumed_at = models.DateTimeField(null=True)
    resumed_restarts = models.PositiveIntegerField(null=True)

    class Meta:
        ordering = ["id"]
        constraints = [
            models.UniqueConstraint(
                fields=["cluster", "job_id", "run_start", "run_restarts"],
                name="steering_one_checkpoint_per_run",
            )
        ]
        indexes = [models.Index(fields=["cluster", "job_id"])]

    def __str__(self) -> str:
        return f"checkpoint of {self.job_id}"
