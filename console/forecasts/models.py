"""What is kept for forecasts: finished jobs, models of run times, and what was said of each job."""

from django.db import models
from django.utils.translation import gettext_lazy as _

from console.core import clock
from scheduler.forecast.facts import Forecast

LONGEST_NAME = 200
LONGEST_COMMAND = 80


class FinishedSource(models.TextChoices):
    """Who told that a job has ended."""

    CYCLES = "cycles", _("seen by Giveway")
    ACCOUNTING = "accounting", _("Slurm's accounting")


class KeptRun(models.Model):
    """The last run of a job that has ended, with what it asked for. Times are epoch seconds, memory is in MB."""

    cluster = models.ForeignKey("cluster.Cluster", on_delete=models.CASCADE, related_name="kept_runs")
    job_id = models.CharField(max_length=40)
    user = models.CharField(max_length=64)
    account = models.CharField(max_length=64, blank=True)
    name = models.CharField(max_length=LONGEST_NAME, blank=True)
    partition = models.CharField(max_length=64)
    qos = models.CharField(max_length=64, blank=True)
    submit = models.BigIntegerField()
    start = models.BigIntegerField()
    end = models.BigIntegerField()
    nodes = models.PositiveIntegerField()
    cpus = models.PositiveIntegerField()
    gpus = models.PositiveIntegerField()
    memory_mb = models.PositiveBigIntegerField(default=0)
    limit_s = models.BigIntegerField(null=True)
    state = models.CharField(max_length=40, blank=True)
    command = models.CharField(max_length=LONGEST_COMMAND, blank=True)
    """Program and script, without arguments; empty where that is not known."""
    source = models.CharField(max_length=12, choices=FinishedSource.choices)

    class Meta:
        ordering = ["end", "pk"]
        constraints = [
            models.UniqueConstraint(fields=["cluster", "job_id", "start"], name="forecasts_run_once"),
            models.CheckConstraint(
                condition=models.Q(end__gte=models.F("start")), name="forecasts_end_not_before_start"
            ),
        ]
        indexes = [models.Index(fields=["cluster", "end"])]

    def __str__(self) -> str:
        return f"{self.job_id} {self.name}"


class AccountingRead(models.Model):
    """How far Slurm's accounting has been read: everything that ended before `until` (epoch seconds)."""

    cluster = models.OneToOneField(
        "cluster.Cluster", on_delete=models.CASCADE, related_name="accounting_read"
    )
    until = models.BigIntegerField()
    strange = models.PositiveBigIntegerField(default=0)
    """Lines that could not be read, in all."""
    fault = models.TextField(blank=True)
    """Why the last reading failed, in words; empty when it did not."""

    def __str__(self) -> str:
        return f"{self.cluster} read until {self.until}"


class RunTimeModel(models.Model):
    """A model of run times that was trained, and how it did on later jobs that it had not seen.

    `figure`, `figure_before`, `figure_medians`: mean of min(p, t) / max(p, t) of it, of the model then in force, of
    plain medians. `body`: the model (`Model.to_json`), compressed; only of the one in
    force, which has been told the finished jobs up to the row `told`.
    """

    cluster = models.ForeignKey("cluster.Cluster", on_delete=models.CASCADE, related_name="run_time_models")
    version = models.CharField(max_length=12)
    made_at = models.DateTimeField()
    jobs = models.PositiveIntegerField()
    later_jobs = models.PositiveIntegerField()
    figure = models.FloatField()
    figure_before = models.FloatField(null=True)
    figure_medians = models.FloatField()
    in_force = models.BooleanField(default=False)
    told = models.BigIntegerField(default=0)
    body = models.BinaryField(null=True)

    class Meta:
        ordering = ["-made_at"]
        constraints = [
            models.UniqueConstraint(
                fields=["cluster"], condition=models.Q(in_force=True), name="forecasts_one_in_force"
            )
        ]

    def __str__(self) -> str:
        return self.version


class JobForecast(models.Model):
    """What was forecast of a job at its submission, and when a running one is expected to end.

    Run times in seconds: `p10`, `p50`, `p90` of the whole run, `low` to `high` hold 90 %. Ends are epoch seconds; null
    while it waits. `inner` and `end_inner`: the run times and ends at `scheduler.forecast.facts.INNER`, for those who
    play the queue; empty where they are not known. `version`: the model's that said so, empty for the plain weights.
    `ran_s`: how long it ran in the end; null before, and where that is not counted.
    """

    cluster = models.ForeignKey("cluster.Cluster", on_delete=models.CASCADE, related_name="job_forecasts")
    job_id = models.CharField(max_length=40)
    submit = models.BigIntegerField()
    partition = models.CharField(max_length=64)
    user = models.CharField(max_length=64)
    nodes = models.PositiveIntegerField()
    cpus = models.PositiveIntegerField()
    gpus = models.PositiveIntegerField()
    limit_s = models.BigIntegerField(null=True)
    command = models.CharField(max_length=LONGEST_COMMAND, blank=True)
    version = models.CharField(max_length=12, blank=True)
    made_at = models.DateTimeField()
    p10 = models.FloatField()
    p50 = models.FloatField()
    p90 = models.FloatField()
    low = models.FloatField()
    high = models.FloatField()
    inner = models.JSONField(default=list)
    start = models.BigIntegerField(null=True)
    end_low = models.BigIntegerField(null=True)
    end_p50 = models.BigIntegerField(null=True)
    end_p80 = models.BigIntegerField(null=True)
    end_high = models.BigIntegerField(null=True)
    end_inner = models.JSONField(default=list)
    renewed = models.BigIntegerField(null=True)
    """When the ends were said last, by the cluster's clock."""
    ran_s = models.BigIntegerField(null=True)
    ended_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["pk"]
        constraints = [
            models.UniqueConstraint(fields=["cluster", "job_id", "submit"], name="forecasts_one_per_job")
        ]
        # There are a hundred times more rows of jobs that have ended. With when it was said last: lanes ask for what is
        # new since the last look.
        indexes = [models.Index(fields=["cluster", "ended_at", "renewed"])]

    def __str__(self) -> str:
        return f"{self.job_id}: {self.p50:.0f} s"

    @property
    def ends_within(self) -> tuple[int, int] | None:
        """In how many seconds from now a running job ends, from and to, 90 % sure; None while it waits."""
        if self.end_low is None or self.end_high is None:
            return None
        now = int(clock.now().timestamp())
        return max(0, self.end_low - now), max(0, self.end_high - now)

    @property
    def is_due(self) -> bool:
        """Whether a running job was expected to end by now: until that is said anew, it ends at any moment."""
        return self.end_p50 is not None and self.end_p50 <= int(clock.now().timestamp())

    @property
    def whole(self) -> Forecast:
        """How long the run takes from its start, as it was said at the submission."""
        return Forecast(self.p10, self.p50, self.p90, self.low, self.high)
