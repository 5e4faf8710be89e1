"""What is known of the speed of processors, and the measurements by which it became known."""

from django.db import models
from django.utils.translation import gettext_lazy as _


class MeasuringRule(models.Model):
    """How a partition's nodes are measured. `at_most`: so many at once. `every_days`: measured anew after so long.
    `limit_s`: how long a measurement may take."""

    partition = models.OneToOneField("partitions.Partition", models.CASCADE, related_name="measuring_rule")
    enabled = models.BooleanField(default=False)
    resource = models.CharField(max_length=64, default="gpu")
    at_most = models.PositiveSmallIntegerField(default=1)
    every_days = models.PositiveSmallIntegerField(default=30)
    limit_s = models.PositiveIntegerField(default=600)

    def __str__(self) -> str:
        return f"{self.partition_id}: {self.resource}"


class MeasurementState(models.TextChoices):
    """Where a measurement stands."""

    ASKED = "asked", _("to be measured")
    SUBMITTED = "submitted", _("being measured")
    DONE = "done", _("measured")
    FAILED = "failed", _("failed")
    WITHDRAWN = "withdrawn", _("withdrawn")


OPEN_STATES = (MeasurementState.ASKED, MeasurementState.SUBMITTED)


class Cause(models.TextChoices):
    """Why a node is measured."""

    FIRST = "first", _("never measured")
    DUE = "due", _("its figures are old")
    REPAIRED = "repaired", _("it is back from a repair")
    ASKED = "asked", _("somebody asked")
    REBOOTED = "rebooted", _("it was booted anew")
    DRIVER = "driver", _("its driver or firmware has changed")
    REPEATED = "repeated", _("it made room for a job before")


class Measurement(models.Model):
    """A job that measures the processors of one node, one after the other, or the wish for one.

    `job_id` is empty until it is submitted; that is not before `not_before`. `devices`: how many processors;
    `outcome`: what went wrong, in the words of the benchmark or of Slurm.
    """

    cluster = models.ForeignKey("cluster.Cluster", models.CASCADE, related_name="measurements")
    partition = models.CharField(max_length=64)
    node = models.CharField(max_length=64)
    resource = models.CharField(max_length=64)
    devices = models.PositiveSmallIntegerField()
    state = models.CharField(max_length=10, choices=MeasurementState.choices, default=MeasurementState.ASKED)
    cause = models.CharField(max_length=10, choices=Cause.choices)
    asked_by = models.CharField(max_length=150, blank=True)
    asked_at = models.DateTimeField()
    not_before = models.DateTimeField(null=True)
    job_id = models.CharField(max_length=40, blank=True)
    submitted_at = models.DateTimeField(null=True)
    ended_at = models.DateTimeField(null=True)
    outcome = models.CharField(max_length=300, blank=True)

    class Meta:
        ordering = ["-id"]
        constraints = [
            models.UniqueConstraint(
                fields=["cluster", "node", "resource"],
                condition=models.Q(state__in=[state.value for state in OPEN_STATES]),
                name="power_one_open_measurement",
            )
        ]

    def __str__(self) -> str:
        return f"{self.node} {self.resource}"


class Source(models.TextChoices):
    """Where a figure comes from."""

    MEASURED = "measured", _("measured")
    TYPED = "typed", _("typed")
    IMPORTED = "imported", _("imported")


class PowerReading(models.Model):
    """How long the benchmark took on one processor, in seconds: less is faster. Kept as it came."""

    cluster = models.ForeignKey("cluster.Cluster", models.CASCADE, related_name="power_readings")
    node = models.CharField(max_length=64)
    resource = models.CharField(max_length=64)
    device = models.PositiveSmallIntegerField()
    seconds = models.FloatField()
    source = models.CharField(max_length=10, choices=Source.choices)
    taken_at = models.DateTimeField()
    driver = models.CharField(max_length=60, blank=True)
    firmware = models.CharField(max_length=60, blank=True)
    by = models.CharField(max_length=150, blank=True)
    measurement = models.ForeignKey(Measurement, models.CASCADE, null=True, related_name="readings")

    class Meta:
        ordering = ["-id"]
        indexes = [models.Index(fields=["cluster", "node", "resource", "device", "-id"])]
        constraints = [
            models.UniqueConstraint(fields=["measurement", "device"], name="power_one_reading_per_device")
        ]

    def __str__(self) -> str:
        return f"{self.node} {self.resource} {self.device}: {self.seconds:g} s"


class Processor(models.Model):
    """A processor's figure in force: the median of its last three readings, in seconds. `before`: the one before."""

    cluster = models.ForeignKey("cluster.Cluster", models.CASCADE, related_name="processors")
    node = models.CharField(max_length=64)
    resource = models.CharField(max_length=64)
    device = models.PositiveSmallIntegerField()
    figure = models.FloatField()
    before = models.FloatField(null=True)
    readings = models.PositiveSmallIntegerField()
    source = models.CharField(max_length=10, choices=Source.choices)
    taken_at = models.DateTimeField()
    driver = models.CharField(max_length=60, blank=True)
    firmware = models.CharField(max_length=60, blank=True)

    class Meta:
        ordering = ["node", "device"]
        constraints = [
            models.UniqueConstraint(
                fields=["cluster", "node", "resource", "device"], name="power_processor_unique"
            )
        ]

    def __str__(self) -> str:
        return f"{self.node} {self.resource} {self.device}"


class DownNode(models.Model):
    """A node that was seen out of service: it is measured anew when it is back."""

    cluster = models.ForeignKey("cluster.Cluster", models.CASCADE, related_name="down_nodes")
    node = models.CharField(max_length=64)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["cluster", "node"], name="power_down_node_unique")]

    def __str__(self) -> str:
        return self.node


class NodeBoot(models.Model):
    """When a node that takes jobs was last booted, as Slurm tells it (epoch seconds); when that changes it is measured
    anew."""

    cluster = models.ForeignKey("cluster.Cluster", models.CASCADE, related_name="node_boots")
    node = models.CharField(max_length=64)
    booted = models.BigIntegerField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["cluster", "node"], name="power_node_boot_unique")]

    def __str__(self) -> str:
        return self.node


class ToldDriver(models.Model):
    """The driver and firmware of a node's processors of one kind, as somebody has told them over the API."""

    cluster = models.ForeignKey("cluster.Cluster", models.CASCADE, related_name="told_drivers")
    node = models.CharField(max_length=64)
    resource = models.CharField(max_length=64)
    driver = models.CharField(max_length=60, blank=True)
    firmware = models.CharField(max_length=60, blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["cluster", "node", "resource"], name="power_told_driver_unique")
        ]

    def __str__(self) -> str:
        return f"{self.node} {self.resource}: {self.driver} {self.firmware}"


class RunLoss(models.Model):
    """What one run of a job on several processors has lost to waiting for its slowest one; kept when it has ended.

    `hours`: what its processors were held for, in all; `lost`: the part of it that they waited (`losses.lost_hours`).
    `start` and `ended` are epoch seconds.
    """

    cluster = models.ForeignKey("cluster.Cluster", models.CASCADE, related_name="run_losses")
    job_id = models.CharField(max_length=40)
    start = models.BigIntegerField()
    restarts = models.PositiveIntegerField()
    ended = models.BigIntegerField()
    partition = models.CharField(max_length=64)
    project = models.CharField(max_length=64, blank=True)
    user = models.CharField(max_length=64)
    resource = models.CharField(max_length=64)
    processors = models.PositiveIntegerField()
    hours = models.FloatField()
    lost = models.FloatField()
    slowest = models.CharField(max_length=64)
    """The node of its slowest processor."""

    class Meta:
        ordering = ["-ended", "-id"]
        constraints = [
            models.UniqueConstraint(
                fields=["cluster", "job_id", "start", "restarts"], name="power_run_loss_unique"
            )
        ]
        indexes = [
            models.Index(fields=["cluster", "partition", "ended"]),
            models.Index(fields=["cluster", "ended"], name="power_run_loss_ended"),
        ]

    def __str__(self) -> str:
        return f"{self.job_id}: {self.lost:.1f} of {self.hours:.1f} h"


class LossMark(models.Model):
    """Up to when the ended runs of a cluster have been looked at, epoch seconds."""

    cluster = models.OneToOneField("cluster.Cluster", models.CASCADE, related_name="loss_mark")
    until = models.BigIntegerField()

    def __str__(self) -> str:
        return f"{self.cluster_id}: {self.until}"
