"""Processors that stand out, and the nodes that were drained because of them."""

from django.db import models
from django.utils.translation import gettext_lazy as _

from console.core.sentence_field import SentenceField
from scheduler.model.sentence import Param, Sentence, say


class StandoutKind(models.TextChoices):
    """In which way a processor stands out."""

    FAR = "far", _("Far slower than its kind")
    JUMPED = "jumped", _("Its figure has jumped")


class StandoutState(models.TextChoices):
    """Where it stands."""

    OPEN = "open", _("Open")
    LEFT = "left", _("Left as it is")
    CLOSED = "closed", _("Closed")


class PowerIncident(models.Model):
    """A processor far from its kind, or one whose figure has jumped.

    `usual`: the figure that it is compared with, in seconds: the middle of its `siblings` and itself, or (a jump) its
    own one before. `share`: by how much of it the `figure` is above; `figure_at`: when that was taken. Left as it is,
    it stays so until the share is clearly above `left_share`; `times`: how often it was opened.
    """

    cluster = models.ForeignKey("cluster.Cluster", models.CASCADE, related_name="power_incidents")
    node = models.CharField(max_length=64)
    resource = models.CharField(max_length=64)
    device = models.PositiveSmallIntegerField()
    kind = models.CharField(max_length=10, choices=StandoutKind.choices)
    state = models.CharField(max_length=10, choices=StandoutState.choices, default=StandoutState.OPEN)
    figure = models.FloatField()
    figure_at = models.DateTimeField()
    usual = models.FloatField()
    share = models.FloatField()
    siblings = models.PositiveIntegerField(default=0)
    opened_at = models.DateTimeField()
    times = models.PositiveSmallIntegerField(default=1)
    left_by = models.CharField(max_length=150, blank=True)
    left_reason = models.CharField(max_length=1000, blank=True)
    left_share = models.FloatField(null=True)
    closed_at = models.DateTimeField(null=True)
    close_reason = SentenceField(blank=True)

    class Meta:
        ordering = ["-id"]
        constraints = [
            models.UniqueConstraint(
                fields=["cluster", "node", "resource", "device"],
                condition=~models.Q(state="closed"),
                name="power_one_incident_per_processor",
            )
        ]
        indexes = [models.Index(fields=["cluster", "state", "opened_at"])]

    def __str__(self) -> str:
        return f"incident of {self.node} {self.resource} {self.device}"

    @property
    def words(self) -> Sentence:
        """What stands out, in a sentence."""
        where: dict[str, Param] = {"node": self.node, "resource": self.resource, "device": self.device}
        n = round(100 * abs(self.share))
        if self.kind == StandoutKind.FAR:
            return say("power.far", **where, n=n, others=self.siblings)
        code = "power.jumped.up" if self.share > 0 else "power.jumped.down"
        return say(code, **where, n=n, before=f"{self.usual:.3g}", now=f"{self.figure:.3g}")


class DrainState(models.TextChoices):
    """Where a drain stands. A wish is `asked` or `returning` until it is seen to have come true."""

    ASKED = "asked", _("to be drained")
    DRAINED = "drained", _("drained")
    RETURNING = "returning", _("to be put back")
    BACK = "back", _("put back")
    FAILED = "failed", _("not drained")
    OVER = "over", _("changed by somebody else")


OPEN_DRAINS = (DrainState.ASKED, DrainState.DRAINED, DrainState.RETURNING)


class NodeDrain(models.Model):
    """A node that a person has drained through Giveway. `mark`: its reason in Slurm, the only one of its kind.

    `sent_at`: when the cluster took what is wished; `detail`: what it, or somebody else there, said.
    """

    cluster = models.ForeignKey("cluster.Cluster", models.CASCADE, related_name="node_drains")
    node = models.CharField(max_length=64)
    incident = models.ForeignKey(PowerIncident, models.CASCADE, related_name="drains")
    state = models.CharField(max_length=10, choices=DrainState.choices, default=DrainState.ASKED)
    mark = models.CharField(max_length=220, blank=True)
    by = models.CharField(max_length=150)
    reason = models.CharField(max_length=1000)
    asked_at = models.DateTimeField()
    sent_at = models.DateTimeField(null=True)
    changed_at = models.DateTimeField()
    detail = models.CharField(max_length=300, blank=True)

    class Meta:
        ordering = ["-id"]
        constraints = [
            models.UniqueConstraint(
                fields=["cluster", "node"],
                condition=models.Q(state__in=[state.value for state in OPEN_DRAINS]),
                name="power_one_open_drain",
            )
        ]

    def __str__(self) -> str:
        return f"drain of {self.node}"
