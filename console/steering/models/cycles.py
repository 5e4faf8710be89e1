"""The cycle: who may run it, what became of it, and the input of its decisions."""

import json
import zlib
from typing import Any

from django.db import models
from django.utils.translation import gettext_lazy as _

from console.audit.services import SYSTEM
from console.core.sentence_field import SentenceField


class CycleLease(models.Model):
    """Who may run a cluster's cycle now. `epoch` grows with each holder, so that a late one can be told apart.

    `overtaken_at`: when it was last taken from a holder that may be alive, and have a command under way.
    """

    cluster = models.OneToOneField("cluster.Cluster", on_delete=models.CASCADE, related_name="lease")
    holder = models.CharField(max_length=100, blank=True)
    epoch = models.PositiveBigIntegerField(default=0)
    expires_at = models.DateTimeField(null=True)
    overtaken_at = models.DateTimeField(null=True)

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
    detail = SentenceField(blank=True)
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


class CycleMeter(models.Model):
    """How the cycles of a cluster ended and how long they took, phase by phase: counted since it was attached.

    `phases` maps a phase to `{"count": n, "seconds": s, "buckets": {"0.1": n, …}}` (cumulative, as Prometheus wants).
    Beside the phases it has what `console.steering.metrics` counts: starts, and work lost and saved.
    `failing`: the failures that no good cycle has followed yet (`console.steering.failures`).
    """

    cluster = models.OneToOneField("cluster.Cluster", on_delete=models.CASCADE, related_name="meter")
    phases = models.JSONField(default=dict)
    degraded = models.PositiveBigIntegerField(default=0)
    """Cycles that did not do all their work: the cluster could not be observed in full, or they failed."""
    failed = models.PositiveBigIntegerField(default=0)
    """Of these, the ones in which an exception was raised."""
    failing = models.JSONField(default=dict)
    ended_well_at = models.DateTimeField(null=True)
    """When a cycle last did all its work."""

    def __str__(self) -> str:
        return f"meter of {self.cluster}"


# The pace of the cycles: when the next one is due, how the last ones came, and what the cluster was asked.


class CyclePace(models.Model):
    """What `console.steering.pace` knows of one cluster, so that every worker that steers it goes by the same.

    `look`: what the last cycle asked of slurmctld, by kind. `glance`: its counters when it was glanced at last.
    `answer_s`: how long it takes to answer a request of each kind. `rung`: the bell's time of change, in ns, as it was
    heard last.
    `budget`: requests in a minute that are allowed now; `limit_burst`, `limit_per_minute`: what slurmctld allows this
    account (`rl_enable`), 0 where it limits nobody. `acted`: the last row of the audit log that a cycle has heeded.
    """

    cluster = models.OneToOneField("cluster.Cluster", on_delete=models.CASCADE, related_name="pace")
    begun_at = models.DateTimeField(null=True)
    due_at = models.DateTimeField(null=True)
    urgent = models.BooleanField(default=False)
    """Somebody waits for the cycle that is due: it may use the whole budget."""
    waiting = models.BooleanField(default=True)
    """Jobs wait or run: something may come of it by itself."""
    acted = models.PositiveBigIntegerField(default=0)
    look = models.JSONField(default=dict)
    glance = models.JSONField(default=list)
    glanced_at = models.DateTimeField(null=True)
    moved_at = models.DateTimeField(null=True)
    fault = models.TextField(blank=True)
    """Why slurmctld's counters cannot be read; then the timer alone says when a cycle is due."""
    answer_s = models.JSONField(default=dict)
    rung = models.BigIntegerField(default=0)
    rung_at = models.DateTimeField(null=True)
    """When it was heard, as long as the counters tell nothing of why."""
    bell_heard_at = models.DateTimeField(null=True)
    """When a submission was seen last that had rung."""
    bell_missed_at = models.DateTimeField(null=True)
    """When one was seen last that had not."""
    stretched = models.BooleanField(default=False)
    """The cycle that is due waits for the budget."""
    budget = models.PositiveIntegerField(default=0)
    limit_burst = models.PositiveIntegerField(default=0)
    limit_per_minute = models.FloatField(default=0.0)

    def __str__(self) -> str:
        return f"pace of {self.cluster}"

    @property
    def rings(self) -> bool:
        """Whether submissions ring: the last one that was seen did."""
        heard, missed = self.bell_heard_at, self.bell_missed_at
        return heard is not None and (missed is None or heard > missed)


class SteeringMinute(models.Model):
    """What came of a minute: how far apart cycles began, and what was asked of the cluster.

    `gaps`: how many gaps were at most so many seconds long, by the edges of `console.steering.pace`. `longest_s`: the
    longest of them, of which `late_s` is beyond three times of what was wanted, and `instead` what ran meanwhile.
    `requests`: by kind. `answer_s`: how long slurmctld took for them. `limited`: how often it made us wait.
    `stretched`: cycles that had to wait for the budget. `source`: who asked: steering, or everything else.
    """

    cluster = models.ForeignKey("cluster.Cluster", on_delete=models.CASCADE, related_name="steering_minutes")
    minute = models.PositiveBigIntegerField()
    """Epoch seconds, divided by 60."""
    source = models.CharField(max_length=10)
    gaps = models.JSONField(default=dict)
    longest_s = models.FloatField(default=0.0)
    late_s = models.FloatField(default=0.0)
    instead = models.JSONField(default=list)
    requests = models.JSONField(default=dict)
    answer_s = models.FloatField(default=0.0)
    limited = models.PositiveIntegerField(default=0)
    stretched = models.PositiveIntegerField(default=0)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["cluster", "minute", "source"], name="steering_minute_unique")
        ]

    def __str__(self) -> str:
        return f"minute {self.minute} of {self.cluster} ({self.source})"


# The switch that stops all stopping.


class Pause(models.Model):
    """While it is there, nobody is stopped in a partition, or (an empty partition) anywhere on the cluster."""

    cluster = models.ForeignKey("cluster.Cluster", on_delete=models.CASCADE, related_name="pauses")
    partition = models.CharField(max_length=64, blank=True)
    since = models.DateTimeField()
    by = models.CharField(max_length=150)
    reason = SentenceField(blank=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["cluster", "partition"], name="steering_pause_unique")]

    def __str__(self) -> str:
        return f"pause of {self.partition or 'everything'}"

    @property
    def by_whom(self) -> str:
        """Who paused it, at the beginning of a sentence."""
        return "Giveway" if self.is_ours else self.by

    @property
    def is_ours(self) -> bool:
        """Whether Giveway did it by itself; its reason is a kept sentence then."""
        return self.by == SYSTEM
