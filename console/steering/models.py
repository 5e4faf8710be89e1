"""Cycles, plans and their actions: what was intended, done and verified."""

import json
import zlib
from typing import Any

from django.db import models
from django.utils.translation import gettext_lazy as _

from scheduler.model.actions import ActionKind


class CycleLease(models.Model):
    """Who may run a cluster's cycle now. `epoch` grows with each holder, so that a late one can be told apart."""

    cluster = models.OneToOneField("cluster.Cluster", on_delete=models.CASCADE, related_name="lease")
    holder = models.CharField(max_length=100, blank=True)
    epoch = models.PositiveBigIntegerField(default=0)
    expires_at = models.DateTimeField(null=True)

    def __str__(self) -> str:
        return f"{self.cluster}: {self.holder or 'free'} (epoch {self.epoch})"


class CycleOutcome(models.TextChoices):
    """How a cycle ended."""

    RUNNING = "running", _("Running")
    OK = "ok", _("Done")
    DEGRADED = "degraded", _("Degraded")
    FAILED = "failed", _("Failed")


class Cycle(models.Model):
    """One run of observe, record, decide, intend, act, verify. Kept when something happened in it."""

    cluster = models.ForeignKey("cluster.Cluster", on_delete=models.CASCADE, related_name="cycles")
    number = models.PositiveBigIntegerField()
    started_at = models.DateTimeField()
    finished_at = models.DateTimeField(null=True)
    outcome = models.CharField(max_length=10, choices=CycleOutcome.choices, default=CycleOutcome.RUNNING)
    detail = models.TextField(blank=True)
    phases = models.JSONField(default=dict)
    """Seconds spent per phase."""

    class Meta:
        ordering = ["-number"]
        constraints = [models.UniqueConstraint(fields=["cluster", "number"], name="steering_cycle_unique")]

    def __str__(self) -> str:
        return f"cycle {self.number}"


class StoredSnapshot(models.Model):
    """The whole input of a decision (contract A), compressed; plans of one cycle share it."""

    digest = models.CharField(max_length=64, unique=True)
    body = models.BinaryField()

    def __str__(self) -> str:
        return self.digest[:12]

    @property
    def document(self) -> dict[str, Any]:
        """The snapshot as contract A has it."""
        loaded: dict[str, Any] = json.loads(zlib.decompress(self.body))
        return loaded


class PlanState(models.TextChoices):
    """A plan's life; the allowed moves are in `console.steering.states`."""

    PROPOSED = "proposed", _("Proposed")
    APPROVED = "approved", _("Approved")
    EXECUTING = "executing", _("Running")
    VERIFIED = "verified", _("Done")
    REJECTED = "rejected", _("Rejected")
    EXPIRED = "expired", _("Expired")
    UNDONE = "undone", _("Undone")
    FAILED = "failed", _("Failed")
    SUPERSEDED = "superseded", _("Superseded")


OPEN_STATES = (PlanState.PROPOSED, PlanState.APPROVED, PlanState.EXECUTING)


class PlanKind(models.TextChoices):
    """What a plan is for: making room, or holding a job whose user is over quota."""

    PREEMPT = "preempt", _("Make room")
    QUOTA = "quota", _("Hold over quota")


class Plan(models.Model):
    """Making room for one job (the beneficiary), from the decision to the proof that it runs.

    `snapshot` is the decision's whole input (contract A), so that it can be decided again.
    `placement` maps node to amounts: the room set aside. `victims` lists, for people, `{job, name, user, how, start,
    restarts, user_level, task_level, resources, ran_s}` of each. `undo_reason`: set when the plan is being taken back.
    """

    cluster = models.ForeignKey("cluster.Cluster", on_delete=models.CASCADE, related_name="plans")
    partition = models.CharField(max_length=64)
    kind = models.CharField(max_length=10, choices=PlanKind.choices, default=PlanKind.PREEMPT)
    state = models.CharField(max_length=12, choices=PlanState.choices, default=PlanState.PROPOSED)
    enforcement = models.CharField(max_length=10)
    mode = models.CharField(max_length=20)
    job_id = models.CharField(max_length=40)
    job_restarts = models.PositiveIntegerField(default=0)
    job_name = models.TextField()
    user = models.CharField(max_length=64)
    reason = models.CharField(max_length=40)
    explain = models.TextField()
    placement = models.JSONField(default=dict)
    victims = models.JSONField(default=list)
    stored_snapshot = models.ForeignKey(
        StoredSnapshot, null=True, on_delete=models.PROTECT, related_name="plans"
    )
    cycle = models.ForeignKey(Cycle, on_delete=models.PROTECT, related_name="plans")
    policy_revision = models.PositiveIntegerField(null=True)
    created_at = models.DateTimeField()
    deadline = models.DateTimeField(null=True)
    started_at = models.DateTimeField(null=True)
    """When the beneficiary was seen running."""
    ended_at = models.DateTimeField(null=True)
    outcome = models.TextField(blank=True)
    """How it ended, in words."""
    undo_reason = models.TextField(blank=True)

    class Meta:
        ordering = ["-id"]
        constraints = [
            models.UniqueConstraint(
                fields=["cluster", "job_id", "partition"],
                condition=models.Q(state__in=OPEN_STATES),
                name="steering_one_open_plan_per_job",
            ),
            models.CheckConstraint(
                condition=models.Q(state__in=PlanState.values), name="steering_plan_state_known"
            ),
        ]
        indexes = [
            models.Index(fields=["cluster", "state"]),
            models.Index(fields=["cluster", "partition", "-id"]),
            models.Index(fields=["cluster", "job_id"]),
        ]

    def __str__(self) -> str:
        return f"plan {self.pk}"

    @property
    def snapshot(self) -> dict[str, Any]:
        """The decision's input as contract A has it; empty when none was kept (quota plans)."""
        return self.stored_snapshot.document if self.stored_snapshot else {}


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
    value = models.CharField(max_length=40, blank=True)
    not_before = models.DateTimeField(null=True)
    attempts = models.PositiveSmallIntegerField(default=0)
    issued_at = models.DateTimeField(null=True)
    verified_at = models.DateTimeField(null=True)
    outcome = models.CharField(max_length=10, blank=True)
    detail = models.TextField(blank=True)

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
