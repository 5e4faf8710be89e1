"""The switch that stops all stopping."""

from django.db import models

from console.audit.services import SYSTEM
from console.core.sentence_field import SentenceField


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
