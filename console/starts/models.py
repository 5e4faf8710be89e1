"""When waiting jobs are expected to start, and what was first said of it."""

from typing import Self

from django.conf import settings
from django.db import models
from django.db.models import F

from console.core import clock

LEAST_JOBS, LEAST_STOPPED = 200, 10
"""Of so many jobs, so many of them stopped, it has to be known what came, before a chance is shown."""


class ExpectedStart(models.Model):
    """What is expected of a waiting job; after its start what had been, for comparison.

    All moments are epoch seconds by the cluster's clock. `p50`: the middle, null where no start is in sight; `low` to
    `high` is meant to hold 90 %, `high` null where the end is open. `nodes`: where, as it looks now. `after`: the
    running jobs whose ends it waits for there. `first_…`: the same as it was first said, at `first_at`; `first_played`
    in seconds from then (low, middle, high) before it was corrected; `first_slurm`: what Slurm expected then.
    `started`: when it did. `gone_at`: when it was seen waiting no more.
    """

    cluster = models.ForeignKey("cluster.Cluster", on_delete=models.CASCADE, related_name="expected_starts")
    job_id = models.CharField(max_length=40)
    submit = models.BigIntegerField()
    partition = models.CharField(max_length=64)
    made_at = models.BigIntegerField()
    p50 = models.BigIntegerField(null=True)
    low = models.BigIntegerField(null=True)
    high = models.BigIntegerField(null=True)
    nodes = models.JSONField(default=list)
    after = models.JSONField(default=list)
    sooner = models.JSONField(default=list)
    """What would make it start notably sooner: `[{"limit_s" or "nodes": …, "p50": …}]`, the best first."""
    first_at = models.BigIntegerField()
    first_p50 = models.BigIntegerField(null=True)
    first_low = models.BigIntegerField(null=True)
    first_high = models.BigIntegerField(null=True)
    first_played = models.JSONField(default=list)
    first_slurm = models.BigIntegerField(null=True)
    started = models.BigIntegerField(null=True)
    gone_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["pk"]
        constraints = [
            # A job that was held, or stopped and requeued, waits again: with a row of its own.
            models.UniqueConstraint(
                fields=["cluster", "job_id", "submit"],
                condition=models.Q(gone_at=None),
                name="starts_one_per_job",
            )
        ]
        indexes = [models.Index(fields=["cluster", "gone_at"])]

    def __str__(self) -> str:
        return f"{self.job_id} at {self.p50}"

    @property
    def within(self) -> tuple[int, int, int | None] | None:
        """In how many seconds from now: the middle, from, and to (None: open); None where no start is in sight."""
        if self.p50 is None or self.low is None:
            return None
        now = int(clock.now().timestamp())
        high = None if self.high is None else max(0, self.high - now)
        return max(0, self.p50 - now), max(0, self.low - now), high


class StartQuestion(models.Model):
    """A job that somebody thinks of submitting: when would it start, if it waited since now?

    `request` as in contract A. `user`, `account`: as whom it would be submitted. The answer is null until
    `answered_at`; then as in `ExpectedStart`. `level`: the names of the levels that it would have.
    """

    cluster = models.ForeignKey("cluster.Cluster", on_delete=models.CASCADE, related_name="start_questions")
    asked_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    asked_at = models.DateTimeField(default=clock.now)
    partition = models.CharField(max_length=64)
    user = models.CharField(max_length=64)
    account = models.CharField(max_length=64, blank=True)
    request = models.JSONField()
    time_limit_s = models.BigIntegerField()
    answered_at = models.DateTimeField(null=True)
    p50 = models.BigIntegerField(null=True)
    low = models.BigIntegerField(null=True)
    high = models.BigIntegerField(null=True)
    nodes = models.JSONField(default=list)
    level = models.CharField(max_length=100, blank=True)

    class Meta:
        ordering = ["pk"]
        indexes = [models.Index(fields=["asked_at"])]

    def __str__(self) -> str:
        return f"{self.partition}: {self.request}"


class StopChance(models.Model):
    """The chance that a running job is stopped within the hour after `made_at` (epoch seconds, the cluster's clock).

    `chance`: as pages show it; `drawn`: before it was corrected. `start` tells the run. Once an hour one of them is
    kept aside (`asked_…`), and compared with what came when its hour is over.
    """

    cluster = models.ForeignKey("cluster.Cluster", on_delete=models.CASCADE, related_name="stop_chances")
    partition = models.CharField(max_length=64)
    job_id = models.CharField(max_length=40)
    start = models.BigIntegerField()
    made_at = models.BigIntegerField()
    chance = models.FloatField()
    drawn = models.FloatField()
    asked_at = models.BigIntegerField()
    asked_drawn = models.FloatField()
    asked_chance = models.FloatField()

    class Meta:
        ordering = ["pk"]
        constraints = [
            models.UniqueConstraint(
                fields=["cluster", "partition", "job_id"], name="starts_one_chance_per_job"
            )
        ]

    def __str__(self) -> str:
        return f"{self.job_id}: {self.chance:.0%}"


class ProvenTallies(models.QuerySet["StopTally"]):
    """Tallies, and those of them by which the chances are worth something."""

    def proven(self) -> Self:
        """Where chances were nearer to what came than the share that was stopped before, and enough has come."""
        return self.filter(jobs__gte=LEAST_JOBS, stopped__gte=LEAST_STOPPED, squares__lt=F("base_squares"))


class StopTally(models.Model):
    """What came of the chances of a partition: of how many jobs, how many were stopped, and how far the chances were
    off, as sums of squares: of ours, and of the share that was stopped before (the base rate).

    `bins`: by class of the drawn chance, `[jobs, stopped]` (`StopCalibration`).
    """

    cluster = models.ForeignKey("cluster.Cluster", on_delete=models.CASCADE, related_name="stop_tallies")
    partition = models.CharField(max_length=64)
    jobs = models.PositiveBigIntegerField(default=0)
    stopped = models.PositiveBigIntegerField(default=0)
    squares = models.FloatField(default=0.0)
    base_squares = models.FloatField(default=0.0)
    bins = models.JSONField(default=list)

    objects = ProvenTallies.as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["cluster", "partition"], name="starts_one_tally_per_partition")
        ]

    def __str__(self) -> str:
        return f"{self.partition}: {self.stopped} of {self.jobs}"

    @property
    def base(self) -> float:
        """The share that was stopped, as far as it is known."""
        return self.stopped / self.jobs if self.jobs else 0.0

    def count(self, chance: float, *, stopped: bool) -> None:
        """An hour is over for a job of which this chance was said."""
        self.squares += (chance - stopped) ** 2
        self.base_squares += (self.base - stopped) ** 2
        self.jobs += 1
        self.stopped += stopped

    @property
    def is_proven(self) -> bool:
        enough = self.jobs >= LEAST_JOBS and self.stopped >= LEAST_STOPPED
        return enough and self.squares < self.base_squares
