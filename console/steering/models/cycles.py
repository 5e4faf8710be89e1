"""The cycle: who may run it, what became of it, and the input of its decisions."""

import json
import zlib
from typing import Any

from django.db import models
from django.utils.translation import gettext_lazy as _

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
    Beside the phases it has what `console.steering.recording.metering` counts: starts, and work lost and saved.
    `failing`: the failures that no good cycle has followed yet (`console.steering.streaks`).
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
