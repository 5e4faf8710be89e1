"""The record: lines of each minute for plots, and whole observations to ask "what if" of."""

from django.db import models
from django.utils.translation import gettext_lazy as _


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


class QuotaMinute(models.Model):
    """How far the quotas of a level were used in one minute: at most one row per partition, level and minute.

    `rank` is the level's place in the policy of that minute, 0 the highest. `uses` maps a kind of limit (its key in
    the priority file) to a resource (`""`: jobs) to `[limit, full, {user: used}]`: how many users had all of it, and
    what the fullest few of them used. Where all users count together the only user is `""`. Memory is in MB.
    """

    cluster = models.ForeignKey("cluster.Cluster", on_delete=models.CASCADE, related_name="quota_minutes")
    partition = models.CharField(max_length=64)
    at = models.DateTimeField()
    """The start of the minute."""
    rank = models.PositiveSmallIntegerField()
    uses = models.JSONField()

    class Meta:
        ordering = ["at"]
        constraints = [
            models.UniqueConstraint(
                fields=["cluster", "partition", "rank", "at"], name="history_one_row_per_level_and_minute"
            )
        ]
        indexes = [models.Index(fields=["at"])]

    def __str__(self) -> str:
        return f"{self.partition} level {self.rank} {self.at:%Y-%m-%d %H:%M}"


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


class StudyState(models.TextChoices):
    """Where a study is. The last three are ends."""

    QUEUED = "queued", _("Waits for the worker")
    RUNNING = "running", _("Being worked on")
    DONE = "done", _("Done")
    FAILED = "failed", _("Failed")
    CANCELLED = "cancelled", _("Cancelled")


OPEN_STUDIES = (StudyState.QUEUED, StudyState.RUNNING)


class StudyKind(models.TextChoices):
    """What a study asks."""

    LOOKS = "looks", _("recorded looks, decided again")
    HINDSIGHT = "hindsight", _("finished jobs, simulated")


class Study(models.Model):
    """A question about the last days that takes longer than a request (`console.history.studies`).

    `question` is a change (`changes.encode_change`), `result` its answer (`answering.encode_past`). While it runs,
    `holder` is whoever works on it, `beat_at` when that one last said so, and `done` of `total` looks are decided.
    `version` grows with every change: the page polls by it.

    One of the kind `hindsight` is about a partition: its question is the whole policy, its result a document
    (`hindsight.figures`), and `done` of `total` counts simulated jobs.
    """

    cluster = models.ForeignKey("cluster.Cluster", on_delete=models.CASCADE, related_name="studies")
    kind = models.CharField(max_length=10, choices=StudyKind.choices, default=StudyKind.LOOKS)
    partition = models.CharField(max_length=64, blank=True)
    """The one that it is about; empty where it may be about several."""
    asked_by = models.CharField(max_length=150)
    asked_at = models.DateTimeField()
    days = models.PositiveSmallIntegerField()
    question = models.JSONField()
    state = models.CharField(max_length=10, choices=StudyState.choices, default=StudyState.QUEUED)
    sent_at = models.DateTimeField(null=True)
    """When the worker was last told of it."""
    begun_at = models.DateTimeField(null=True)
    beat_at = models.DateTimeField(null=True)
    ended_at = models.DateTimeField(null=True)
    holder = models.CharField(max_length=32, blank=True)
    tries = models.PositiveSmallIntegerField(default=0)
    done = models.PositiveIntegerField(default=0)
    total = models.PositiveIntegerField(default=0)
    result = models.JSONField(null=True)
    fault = models.TextField(blank=True)
    version = models.PositiveIntegerField(default=1)

    class Meta:
        ordering = ["-id"]
        constraints = [
            models.CheckConstraint(
                condition=models.Q(state__in=StudyState.values), name="history_study_state_known"
            ),
            models.CheckConstraint(
                condition=models.Q(kind__in=StudyKind.values), name="history_study_kind_known"
            ),
        ]
        indexes = [
            models.Index(fields=["state"]),
            models.Index(fields=["asked_at"]),
            models.Index(fields=["cluster", "partition", "kind"]),
        ]

    def __str__(self) -> str:
        return f"study {self.pk} of {self.asked_by}"

    @property
    def open(self) -> bool:
        return self.state in OPEN_STUDIES

    @property
    def look(self) -> str:
        """The state whose icon and tone it has on pages."""
        return {"queued": "pending", "done": "verified", "cancelled": "rejected"}.get(self.state, self.state)

    @property
    def part(self) -> str:
        """How much of it is done, for a bar: `12.5%`."""
        return f"{100 * self.done / self.total:.5g}%" if self.total else "0%"

    @property
    def percent(self) -> int:
        """The same for people, in whole hundredths."""
        return 100 * self.done // self.total if self.total else 0
