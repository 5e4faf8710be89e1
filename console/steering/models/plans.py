"""Plans: making room for one job, from the decision to the proof that it runs."""

from collections.abc import Collection
from datetime import datetime
from typing import Any

from django.db import models
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from console.cluster.models import LONGEST_GROUP
from console.core.sentence_field import SentenceField, SentencesField
from console.steering.models.cycles import Cycle, StoredSnapshot
from scheduler.model.actions import ActionKind
from scheduler.model.policy import Enforcement
from scheduler.model.sentence import Sentence


class PlanState(models.TextChoices):
    """A plan's life; the allowed moves are in `console.steering.lifecycle`."""

    PROPOSED = "proposed", _("Proposed")
    APPROVED = "approved", _("Approved")
    EXECUTING = "executing", _("Running")
    VERIFIED = "verified", _("Done")
    REJECTED = "rejected", _("Rejected")
    EXPIRED = "expired", _("Expired")
    UNDONE = "undone", _("Undone")
    FAILED = "failed", _("Failed")
    SUPERSEDED = "superseded", _("Superseded")


BEGUN_STATES = (PlanState.APPROVED, PlanState.EXECUTING)
OPEN_STATES = (PlanState.PROPOSED, *BEGUN_STATES)


class PlanKind(models.TextChoices):
    """What a plan is for: making room, holding a job whose user is over quota, or jobs until all of them fit, starting
    a job again on more nodes, which is its own victim then."""

    PREEMPT = "preempt", _("Make room")
    QUOTA = "quota", _("Hold over quota")
    WHOLE = "whole", _("Hold until all fit")
    GROW = "grow", _("Give nodes back")


class Plan(models.Model):
    """Making room for one job (the beneficiary), from the decision to the proof that it runs.

    `snapshot` is the decision's whole input (contract A), so that it can be decided again.
    `placement` maps node to amounts: the room set aside. `victims` lists, for people, `{job, name, user, how, start,
    restarts, user_level, task_level, user_origin, task_origin, resources, amounts, ran_s}` of each; of a worker that an
    elastic job loses also `worker_of` (its group) and `least` (how many others must stay); of a job that grows `gets`
    (nodes), `before` and `after` (how many). `passed_over`: `{job,
    reason}` of the running jobs that were looked at and left alone. `alternatives`: for who has to approve it.
    `undo_reason`: set when the plan is being taken back. `not_started`: that is because its job had not started by the
    deadline. `likeness`: the same for jobs of one user that are called the same and ask for the same.

    `tasks`: `{job, name, restarts, node, seen}` of each task of a group, where room is made for several together; empty
    for one job. `seen`: `started` or `gone`, once it is. `job_id` is the first of them then. `console.steering.served`
    reads it. `group`: what its job is a part of, an array or jobs that say so (`scheduler.priority.groups`); a plan of
    an earlier release has none.

    Where somebody is asked, a proposal is the standing request of its job: it is renewed in place, and `versions` keep
    what was shown. `renewed_at`: when its victims were worked out, if not when it was made. `not_now`: why it cannot be
    carried out at the moment; its victims are the last ones then. `decided_version`: the one that the person had read.
    `chosen`: the kind of the alternative that was approved instead.
    """

    cluster = models.ForeignKey("cluster.Cluster", on_delete=models.CASCADE, related_name="plans")
    partition = models.CharField(max_length=64)
    kind = models.CharField(max_length=10, choices=PlanKind.choices, default=PlanKind.PREEMPT)
    state = models.CharField(max_length=12, choices=PlanState.choices, default=PlanState.PROPOSED)
    enforcement = models.CharField(max_length=10)
    mode = models.CharField(max_length=20)
    job_id = models.CharField(max_length=40)
    job_restarts = models.PositiveIntegerField(default=0)
    job_submit = models.BigIntegerField(null=True)
    """When Slurm had taken the job (epoch seconds): a later job may get its number. Null: not kept then."""
    job_name = models.TextField()
    user = models.CharField(max_length=64)
    reason = models.CharField(max_length=40)
    explain = SentenceField()
    placement = models.JSONField(default=dict)
    tasks = models.JSONField(default=list)
    group = models.CharField(max_length=LONGEST_GROUP, blank=True)
    whole = models.BooleanField(default=False)
    """Whether its tasks' user wants all of them at once, or none."""
    victims = SentencesField(default=list)
    passed_over = models.JSONField(default=list)
    alternatives = SentencesField(default=list)
    priority = models.BigIntegerField(default=0)
    """The place in Slurm's line that the beneficiary gets."""
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
    outcome = SentenceField(blank=True)
    """How it ended, in words."""
    undo_reason = SentenceField(blank=True)
    not_started = models.BooleanField(default=False)
    likeness = models.CharField(max_length=32, blank=True)
    decided_by = models.CharField(max_length=150, blank=True)
    """Who approved or rejected it, where the partition asks for that."""
    decided_at = models.DateTimeField(null=True)
    decision_reason = models.TextField(blank=True)
    decided_version = models.PositiveIntegerField(null=True)
    chosen = models.CharField(max_length=20, blank=True)
    version = models.PositiveIntegerField(default=1)
    renewed_at = models.DateTimeField(null=True)
    not_now = SentenceField(blank=True)

    class Meta:
        ordering = ["-id"]
        constraints = [
            models.UniqueConstraint(
                fields=["cluster", "job_id", "partition"],
                condition=models.Q(state__in=OPEN_STATES) & ~models.Q(kind=PlanKind.WHOLE),
                name="steering_one_open_plan_per_job",
            ),
            models.UniqueConstraint(
                fields=["cluster", "job_id", "partition"],
                condition=models.Q(state__in=OPEN_STATES, kind=PlanKind.WHOLE),
                name="steering_one_open_hold_per_job",
            ),
            models.CheckConstraint(
                condition=models.Q(state__in=PlanState.values), name="steering_plan_state_known"
            ),
        ]
        indexes = [
            # With all that every page counts by who waits for a decision: the rows themselves are long.
            models.Index(
                fields=["cluster", "state", "enforcement", "kind", "partition", "job_id", "group"],
                name="steering_plan_asked",
            ),
            models.Index(fields=["cluster", "partition", "-id"]),
            models.Index(fields=["cluster", "job_id"]),
            models.Index(
                fields=["cluster", "group"], condition=~models.Q(group=""), name="steering_plan_group"
            ),
        ]

    def __str__(self) -> str:
        return f"plan {self.pk}"

    @classmethod
    def from_db(
        cls, db: str | None, field_names: Collection[str], values: Collection[Any], **more: Any
    ) -> "Plan":
        """As Django does it, which looks each field up in `field_names`: in a list of dozens that takes longest."""
        return super().from_db(db, frozenset(field_names), values, **more)

    @property
    def snapshot(self) -> dict[str, Any]:
        """The decision's input as contract A has it; empty when none was kept (quota plans)."""
        return self.stored_snapshot.document if self.stored_snapshot else {}

    @property
    def awaits_decision(self) -> bool:
        """Whether it is a standing request: a person is asked about it."""
        return (
            self.state == PlanState.PROPOSED
            and self.kind == PlanKind.PREEMPT
            and self.enforcement == Enforcement.APPROVE
        )

    @property
    def worked_out_at(self) -> datetime:
        """When its victims were worked out: what they have lost is counted from there."""
        return self.renewed_at or self.created_at


class PlanVersion(models.Model):
    """What a request for approval asked for at a time, as it was shown: the first is what it was opened with.

    `ended`: the jobs of the version before it whose runs were over by then.
    """

    plan = models.ForeignKey(Plan, on_delete=models.CASCADE, related_name="versions")
    number = models.PositiveIntegerField()
    at = models.DateTimeField()
    victims = SentencesField(default=list)
    ended = models.JSONField(default=list)
    placement = models.JSONField(default=dict)
    explain = SentenceField()
    policy_revision = models.PositiveIntegerField(null=True)

    class Meta:
        ordering = ["plan_id", "number"]
        constraints = [
            models.UniqueConstraint(fields=["plan", "number"], name="steering_one_row_per_version"),
        ]

    def __str__(self) -> str:
        return f"version {self.number} of plan {self.plan_id}"


# Actions: one change to one run of one job, written down before it is done.


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


# What became of each run that a plan has signalled or stopped.


class Fate(models.TextChoices):
    """What became of a victim. Only `OPEN` is no account of it."""

    OPEN = "open", _("Not yet known")
    WAITING = "waiting", pgettext_lazy("fate", "Waits")
    RETURNED = "returned", _("Came back")
    ENDED = "ended", _("Ended by its owner")
    CANCELLED = "cancelled", _("Cancelled by the plan")
    SPARED = "spared", _("Not stopped")
    LOST = "lost", _("Lost")


_SAID_BY_NAME = frozenset({"fate.waits", "fate.came_back", "fate.not_stopped"})
"""Sentences that say no more than the name of their fate."""


class Victim(models.Model):
    """One run of a job that a plan has sent a signal or a stop, followed until it is known what became of it.

    `words`: the same as a sentence. `gone_since`: since when the job is seen no more and nobody tells why. `back_…`:
    the run in which it came back, and when that was first seen. `settled_at`: nothing more can happen to it that has
    to do with the plan; until then it is looked at in every cycle.
    """

    plan = models.ForeignKey(Plan, on_delete=models.CASCADE, related_name="fates")
    cluster = models.ForeignKey("cluster.Cluster", on_delete=models.CASCADE, related_name="victims")
    job_id = models.CharField(max_length=40)
    run_start = models.BigIntegerField()
    run_restarts = models.PositiveIntegerField()
    job_name = models.TextField(blank=True)
    user = models.CharField(max_length=64, blank=True)
    fate = models.CharField(max_length=10, choices=Fate.choices, default=Fate.OPEN)
    words = SentenceField(blank=True)
    sent_at = models.DateTimeField()
    gone_since = models.DateTimeField(null=True)
    back_at = models.DateTimeField(null=True)
    back_restarts = models.PositiveIntegerField(null=True)
    settled_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["id"]
        constraints = [
            models.UniqueConstraint(
                fields=["plan", "job_id", "run_start", "run_restarts"], name="steering_one_fate_per_run"
            ),
            models.CheckConstraint(condition=models.Q(fate__in=Fate.values), name="steering_fate_known"),
        ]
        indexes = [
            models.Index(fields=["cluster", "settled_at"]),
            models.Index(fields=["cluster", "job_id"]),
        ]

    def __str__(self) -> str:
        return f"victim {self.job_id} of plan {self.plan_id}"

    @property
    def more(self) -> str:
        """What the name of its fate does not say yet."""
        code = self.words.code if isinstance(self.words, Sentence) else ""
        return "" if code in _SAID_BY_NAME else self.words


# Beneficiaries that ended badly as soon as they had started: in vain, others were stopped for them.


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


# What the victims saved before they were stopped, and where they went on.


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


# Incidents: a job that was stopped and did not come back.


class IncidentKind(models.TextChoices):
    """In which way it did not come back."""

    FAILED = "failed", _("It failed and was not put back")
    GONE = "gone", _("It is gone without a trace")
    AT_ONCE = "at_once", _("It ended within a minute of its return")
    LAUNCH = "launch", _("Slurm could not start it again")


class Incident(models.Model):
    """A victim that did not come back. It stays open until a person closes it with a reason, or the job is seen again.

    `counts`: it counts towards the pause of its partition; not any more once somebody has resumed that.
    """

    cluster = models.ForeignKey("cluster.Cluster", on_delete=models.CASCADE, related_name="incidents")
    partition = models.CharField(max_length=64)
    victim = models.ForeignKey(Victim, on_delete=models.CASCADE, related_name="incidents")
    kind = models.CharField(max_length=10, choices=IncidentKind.choices)
    job_id = models.CharField(max_length=40)
    job_name = models.TextField(blank=True)
    user = models.CharField(max_length=64, blank=True)
    plan = models.PositiveBigIntegerField()
    beneficiary = models.CharField(max_length=40)
    """The job that it was stopped for."""
    words = SentenceField()
    opened_at = models.DateTimeField()
    counts = models.BooleanField(default=True)
    closed_at = models.DateTimeField(null=True)
    closed_by = models.CharField(max_length=150, blank=True)
    close_reason = SentenceField(blank=True)

    class Meta:
        ordering = ["-id"]
        constraints = [
            models.UniqueConstraint(fields=["victim", "kind"], name="steering_one_incident_per_victim"),
            models.CheckConstraint(
                condition=models.Q(kind__in=IncidentKind.values), name="steering_incident_kind_known"
            ),
        ]
        indexes = [
            models.Index(fields=["cluster", "closed_at"]),
            models.Index(fields=["cluster", "partition", "-id"]),
            models.Index(fields=["cluster", "job_id"]),
        ]

    def __str__(self) -> str:
        return f"incident {self.pk}"
