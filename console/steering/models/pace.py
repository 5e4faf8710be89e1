"""The pace of the cycles: when the next one is due, how the last ones came, and what the cluster was asked."""

from django.db import models


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
