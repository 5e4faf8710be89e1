"""What became of each run that a plan has signalled or stopped."""

from django.db import models
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from console.core.sentence_field import SentenceField
from console.steering.models.plans import Plan
from scheduler.model.sentence import Sentence


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
