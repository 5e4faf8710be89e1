"""The record: a line per partition and minute for plots, and whole observations to ask "what if" of."""

from django.db import models


class PartitionMinute(models.Model):
    """A partition in one minute, for timelines and plots: at most one row per partition and minute.

    What holds at one moment of it: `total` and `used` map a resource to its amount on the nodes that are up (what is
    used on others is left out); `running` and `pending` map a level to a number of jobs. What came to pass in it:
    `started` maps a level to `[jobs, seconds]`, the jobs that started and what they had waited together; `stops` is
    how many runs Giveway stopped, `work_lost` the work these had done: a resource to its amount times seconds.

    Levels are those of the axis that comes first in the policy of that minute (`axis`: user or task), as text:
    `"0"` is the highest, `"none"` is unconfigured.
    """

    cluster = models.ForeignKey("cluster.Cluster", on_delete=models.CASCADE, related_name="minutes")
    partition = models.CharField(max_length=64)
    at = models.DateTimeField()
    """The start of the minute."""
    axis = models.CharField(max_length=4)
    total = models.JSONField(default=dict)
    used = models.JSONField(default=dict)
    running = models.JSONField(default=dict)
    pending = models.JSONField(default=dict)
    started = models.JSONField(default=dict)
    stops = models.PositiveIntegerField(default=0)
    work_lost = models.JSONField(default=dict)

    class Meta:
        ordering = ["at"]
        constraints = [
            models.UniqueConstraint(fields=["cluster", "partition", "at"], name="history_one_row_per_minute")
        ]
        indexes = [models.Index(fields=["at"])]

    def __str__(self) -> str:
        return f"{self.partition} {self.at:%Y-%m-%d %H:%M}"


class Observed(models.Model):
    """A whole observation: `body` is its JSON (`scheduler.contracts.observation`), compressed.

    `at` is the console's clock, `jobs` how many it has.
    """

    at = models.DateTimeField()
    jobs = models.PositiveIntegerField(default=0)
    body = models.BinaryField()

    class Meta:
        abstract = True


class LatestObservation(Observed):
    """What was seen last, at most a minute ago while cycles run: the facts that "what if" is asked of."""

    cluster = models.OneToOneField(
        "cluster.Cluster", on_delete=models.CASCADE, related_name="latest_observation"
    )

    def __str__(self) -> str:
        return f"{self.cluster} last seen {self.at:%H:%M:%S}"


class RecordedObservation(Observed):
    """What was seen every few minutes, kept for days: what a changed policy would have done is asked of these."""

    cluster = models.ForeignKey(
        "cluster.Cluster", on_delete=models.CASCADE, related_name="recorded_observations"
    )

    class Meta:
        ordering = ["at"]
        indexes = [models.Index(fields=["cluster", "at"])]

    def __str__(self) -> str:
        return f"{self.cluster} {self.at:%Y-%m-%d %H:%M}"
