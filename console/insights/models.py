"""Sums by day, small enough to be kept for a year and to be read for two quarters at once."""

from django.db import models
from django.utils.translation import gettext_lazy as _


class StopCause(models.TextChoices):
    """Why a run was ended before its time."""

    ROOM = "room", _("Stopped to make room, and put back")
    WORKER = "worker", _("Worker of an elastic job, given up")
    CANCEL = "cancel", _("Cancelled to make room: it could not be put back")
    GROW = "grow", _("Started again on more nodes")


class SummedUntil(models.Model):
    """How far a cluster's past is added up: everything before `until`, and nothing after it."""

    cluster = models.OneToOneField("cluster.Cluster", on_delete=models.CASCADE, related_name="summed_until")
    until = models.DateTimeField()

    def __str__(self) -> str:
        return f"{self.cluster} until {self.until:%Y-%m-%d %H:%M}"


class OfOneDay(models.Model):
    """A sum of one day, by the installation's calendar, in one partition."""

    cluster = models.ForeignKey("cluster.Cluster", on_delete=models.CASCADE, related_name="+")
    partition = models.CharField(max_length=64)
    day = models.DateField()

    class Meta:
        abstract = True


class PartitionDay(OfOneDay):
    """A partition's day. `minutes` of it were recorded, in which jobs ran for `job_minutes` together.

    `waits` maps a level, as `PartitionMinute` names it, to a histogram of the waits of the jobs that started:
    how many there were in each step (`console.insights.answers`).
    """

    minutes = models.PositiveIntegerField(default=0)
    job_minutes = models.PositiveBigIntegerField(default=0)
    waits = models.JSONField(default=dict)

    class Meta:
        ordering = ["day"]
        constraints = [
            models.UniqueConstraint(fields=["cluster", "partition", "day"], name="insights_one_row_per_day")
        ]
        indexes = [models.Index(fields=["cluster", "day"])]

    def __str__(self) -> str:
        return f"{self.partition} {self.day}"


class StopsOfDay(OfOneDay):
    """Runs that were ended in one day for one cause, by the project that gained and the one that paid.

    Projects are codes, empty where none is known. `lost` and `saved`: seconds of work of each resource, `saved` what
    acknowledged checkpoints kept.
    """

    cause = models.CharField(max_length=8, choices=StopCause.choices)
    gained = models.CharField(max_length=64, blank=True)
    paid = models.CharField(max_length=64, blank=True)
    stops = models.PositiveIntegerField(default=0)
    gpu_lost = models.FloatField(default=0)
    npu_lost = models.FloatField(default=0)
    cpu_lost = models.FloatField(default=0)
    gpu_saved = models.FloatField(default=0)
    npu_saved = models.FloatField(default=0)
    cpu_saved = models.FloatField(default=0)

    class Meta:
        ordering = ["day"]
        constraints = [
            models.UniqueConstraint(
                fields=["cluster", "partition", "day", "cause", "gained", "paid"],
                name="insights_one_row_of_stops",
            ),
            models.CheckConstraint(
                condition=models.Q(cause__in=StopCause.values), name="insights_cause_known"
            ),
        ]
        indexes = [models.Index(fields=["cluster", "day"])]

    def __str__(self) -> str:
        return f"{self.stops} stops on {self.day}"


class RoomOfDay(OfOneDay):
    """What jobs ran that others had been stopped for, on the day that they ended, by their project."""

    project = models.CharField(max_length=64, blank=True)
    jobs = models.PositiveIntegerField(default=0)
    gpu = models.FloatField(default=0)
    npu = models.FloatField(default=0)
    cpu = models.FloatField(default=0)

    class Meta:
        ordering = ["day"]
        constraints = [
            models.UniqueConstraint(
                fields=["cluster", "partition", "day", "project"], name="insights_one_row_of_room"
            )
        ]
        indexes = [models.Index(fields=["cluster", "day"])]

    def __str__(self) -> str:
        return f"room for {self.project} on {self.day}"


class UnevenOfDay(OfOneDay):
    """What runs on several measured processors held and lost to waiting for the slowest one, in hours of a resource, on
    the day that they ended, by their project (`console.power.losses`)."""

    project = models.CharField(max_length=64, blank=True)
    resource = models.CharField(max_length=64)
    runs = models.PositiveIntegerField(default=0)
    hours = models.FloatField(default=0)
    lost = models.FloatField(default=0)

    class Meta:
        ordering = ["day"]
        constraints = [
            models.UniqueConstraint(
                fields=["cluster", "partition", "day", "project", "resource"],
                name="insights_one_row_of_uneven",
            )
        ]
        indexes = [models.Index(fields=["cluster", "day"])]

    def __str__(self) -> str:
        return f"{self.lost:.1f} of {self.hours:.1f} h of {self.project} on {self.day}"
