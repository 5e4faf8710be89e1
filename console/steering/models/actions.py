"""Actions: one change to one run of one job, written down before it is done."""

from django.db import models
from django.utils.translation import gettext_lazy as _

from console.core.sentence_field import SentenceField
from console.steering.models.plans import Plan
from scheduler.model.actions import ActionKind


class ActionState(models.TextChoices):
    """An action's life: written down, claimed, issued, seen to have worked."""

    PLANNED = "planned", _("Planned")
    EXECUTING = "executing", _("Being done")
    ISSUED = "issued", _("Done, not yet seen")
    VERIFIED = "verified", _("Done")
    EXPIRED = "expired", _("No longer needed")
    FAILED = "failed", _("Failed")


STOP_KINDS = (ActionKind.REQUEUE_HOLD, ActionKind.CANCEL, ActionKind.RECOVER)
"""What counts as having stopped a job. A recovered one was ended by its checkpoint signal."""

VALUE = 2000
"""Characters of an action's value: the longest are names of nodes."""


class PlannedAction(models.Model):
    """One change to one job, unique per run of that job: what is done is done at most once.

    `order`: actions of a smaller order come first. `not_before`: the grace time after the checkpoint signal.
    """

    plan = models.ForeignKey(Plan, on_delete=models.CASCADE, related_name="actions")
    cluster = models.ForeignKey("cluster.Cluster", on_delete=models.CASCADE, related_name="actions")
    kind = models.CharField(max_length=20, choices=[(k.value, k.value) for k in ActionKind])
    state = models.CharField(max_length=10, choices=ActionState.choices, default=ActionState.PLANNED)
    order = models.PositiveSmallIntegerField()
    job_id = models.CharField(max_length=40)
    run_start = models.BigIntegerField(default=0)
    run_restarts = models.PositiveIntegerField(default=0)
    job_name = models.TextField(blank=True)
    user = models.CharField(max_length=64, blank=True)
    value = models.CharField(max_length=VALUE, blank=True)
    not_before = models.DateTimeField(null=True)
    attempts = models.PositiveSmallIntegerField(default=0)
    issued_at = models.DateTimeField(null=True)
    verified_at = models.DateTimeField(null=True)
    outcome = models.CharField(max_length=10, blank=True)
    detail = SentenceField(blank=True)

    class Meta:
        ordering = ["order", "id"]
        constraints = [
            # A run of a job is stopped at most once, whatever plan asks for it and whoever carries it out.
            models.UniqueConstraint(
                fields=["cluster", "job_id", "run_start", "run_restarts", "kind"],
                condition=models.Q(kind__in=["signal", "requeue_hold", "cancel"])
                & ~models.Q(state="expired"),
                name="steering_one_stop_per_run",
            ),
            models.CheckConstraint(
                condition=models.Q(state__in=ActionState.values), name="steering_action_state_known"
            ),
        ]
        indexes = [models.Index(fields=["cluster", "state"]), models.Index(fields=["cluster", "job_id"])]

    def __str__(self) -> str:
        return f"{self.kind} {self.job_id}"
