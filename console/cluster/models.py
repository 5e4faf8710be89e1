"""The mirror of the cluster: what was last observed, with the levels and verdicts derived from it.

Pages and API read only this; nothing here decides anything. Written by `console.steering` once a cycle.
"""

from django.db import models
from django.utils.translation import gettext_lazy as _

from console.core.installation import SIMULATOR
from console.core.sentence_field import SentenceField


class Cluster(models.Model):
    """A named cluster that is attached.

    `cycle` counts the cycles. `version` grows whenever something that a page shows has changed: pages poll by it.
    """

    name = models.CharField(max_length=64, unique=True)
    kind = models.CharField(max_length=20)
    software = models.CharField(max_length=60, blank=True)
    facts = models.JSONField(default=dict)
    cycle = models.PositiveBigIntegerField(default=0)
    version = models.PositiveBigIntegerField(default=0)
    observed_at = models.DateTimeField(null=True)
    attempted_at = models.DateTimeField(null=True)
    slowed_at = models.DateTimeField(null=True)
    """When it made a command wait because it was asked too often (`rl_enable`)."""
    fault = models.TextField(blank=True)
    """Why the last look failed or was partial, in words; empty when all is well."""
    made_up_until = models.DateTimeField(null=True)
    """What is told of before is made up: a demonstration's past. Null everywhere else."""

    def __str__(self) -> str:
        return self.name

    @property
    def is_simulated(self) -> bool:
        """Whether nothing real can come to harm here."""
        return self.kind == SIMULATOR


class ClusterPartition(models.Model):
    """A partition as Slurm has it."""

    cluster = models.ForeignKey(Cluster, on_delete=models.CASCADE, related_name="observed_partitions")
    name = models.CharField(max_length=64)
    state = models.CharField(max_length=20)

    class Meta:
        ordering = ["name"]
        constraints = [models.UniqueConstraint(fields=["cluster", "name"], name="cluster_partition_unique")]

    def __str__(self) -> str:
        return self.name


LONGEST_UNIT = 100


class Node(models.Model):
    """A node as last observed. `total` and `used` map resources to amounts (contract A).

    `unit`: the compute unit that it belongs to (a switch, a block); empty when none is known. `own_units`: its unit in
    those partitions that see the network in their own way.
    """

    cluster = models.ForeignKey(Cluster, on_delete=models.CASCADE, related_name="nodes")
    name = models.CharField(max_length=64)
    up = models.BooleanField()
    state = models.CharField(max_length=60)
    state_reason = models.CharField(max_length=300, blank=True)
    total = models.JSONField(default=dict)
    used = models.JSONField(default=dict)
    features = models.JSONField(default=list)
    partitions = models.JSONField(default=list)
    unit = models.CharField(max_length=LONGEST_UNIT, blank=True)
    own_units = models.JSONField(default=dict)
    booted = models.BigIntegerField(default=0)
    """When it was booted, epoch seconds; 0 where that is not told."""

    class Meta:
        ordering = ["name"]
        constraints = [models.UniqueConstraint(fields=["cluster", "name"], name="cluster_node_unique")]

    def __str__(self) -> str:
        return self.name

    def unit_in(self, partition: str) -> str:
        """Its unit as a partition sees the network; empty when none is known."""
        unit: str = self.own_units.get(partition, self.unit)
        return unit


class JobPhase(models.TextChoices):
    """Where a job is."""

    PENDING = "pending", _("Waiting")
    RUNNING = "running", _("Running")
    COMPLETING = "completing", _("Ending")
    ENDED = "ended", _("Ended")


LONGEST_GROUP = 200


class Job(models.Model):
    """A job in one partition, as last observed, with its levels there and the verdict on it.

    A pending job that names several partitions has a row in each. `start` is 0 while pending: (job_id, start,
    restarts) identify a run. Levels: index in the partition's policy, 0 the highest, NULL = unconfigured.
    `verdict`/`reason`/`explain` come from the last decision; `place` is its place in line (1 = next), 0 otherwise.
    """

    cluster = models.ForeignKey(Cluster, on_delete=models.CASCADE, related_name="jobs")
    job_id = models.CharField(max_length=40)
    partition = models.CharField(max_length=64)
    name = models.TextField()
    user = models.CharField(max_length=64)
    account = models.CharField(max_length=64, blank=True)
    comment = models.TextField(blank=True)
    group = models.CharField(max_length=LONGEST_GROUP, blank=True)
    """What it is a part of: an array, or jobs that say so (`scheduler.priority.groups`); empty when it stands alone."""
    phase = models.CharField(max_length=12, choices=JobPhase.choices)
    slurm_state = models.CharField(max_length=40, blank=True)
    slurm_reason = models.CharField(max_length=200, blank=True)
    held = models.BooleanField(default=False)
    priority = models.BigIntegerField(default=0)
    submit = models.BigIntegerField()
    first_submit = models.BigIntegerField(default=0)
    """When it was first submitted; Slurm sets `submit` anew when it requeues a job."""
    waits_since = models.BigIntegerField(default=0)
    """What it has waited in all, counted back from its start or, while it waits, from now."""
    start = models.BigIntegerField(default=0)
    restarts = models.PositiveIntegerField(default=0)
    time_limit_s = models.BigIntegerField(null=True)
    estimated_start = models.BigIntegerField(null=True)
    alloc = models.JSONField(default=dict)
    on_node = models.CharField(max_length=64, blank=True)
    """The node that all of `alloc` is on; empty when it is on several, or on none."""
    request = models.JSONField(default=dict)
    resources = models.CharField(max_length=200, blank=True)
    """What it holds or asks for, in words: `4 × a100, 16 cpu`."""
    project = models.CharField(max_length=64, blank=True)
    user_level = models.SmallIntegerField(null=True)
    task_level = models.SmallIntegerField(null=True)
    user_level_name = models.CharField(max_length=40, blank=True)
    task_level_name = models.CharField(max_length=40, blank=True)
    user_origin = SentenceField(blank=True)
    task_origin = SentenceField(blank=True)
    protected = SentenceField(blank=True)
    was_requeueable = models.BooleanField(default=False)
    """Whether it was ever seen requeueable; Slurm tells only how it is now."""
    immune = models.CharField(max_length=12, blank=True)
    """Why it is not stopped for anybody, where that lies in its not being requeued (`Immunity`)."""
    immune_since = models.BigIntegerField(null=True)
    """The cluster's second in which it was first seen so."""
    preemptions = models.PositiveIntegerField(default=0)
    verdict = models.CharField(max_length=12, blank=True)
    reason = models.CharField(max_length=40, blank=True)
    explain = SentenceField(blank=True)
    place = models.PositiveIntegerField(default=0)
    line_place = models.PositiveIntegerField(default=0)
    """Its place in Slurm's line of the partition, by level where that is `order`; 0 when it stands nowhere."""
    line_ordered = models.BooleanField(default=False)
    """Whether Giveway puts the line in that order; else it only would."""
    own_priority = models.BigIntegerField(null=True)
    """What Slurm's priority of it would be without Giveway, with its user's own nice."""
    keeps_place = models.BooleanField(default=False)
    """The place is the one that it had before it was stopped, or put first."""
    startable = models.PositiveSmallIntegerField(default=0)
    """In how many cycles in a row there was free room for it."""
    plan = models.PositiveBigIntegerField(null=True)
    """The plan that makes room for it or that stopped it, if one is open."""
    ended_at = models.DateTimeField(null=True)
    fingerprint = models.CharField(max_length=32)

    class Meta:
        ordering = ["job_id"]
        constraints = [
            models.UniqueConstraint(fields=["cluster", "job_id", "partition"], name="cluster_job_unique"),
            models.CheckConstraint(
                condition=models.Q(phase__in=JobPhase.values), name="cluster_job_phase_known"
            ),
        ]
        indexes = [
            # With all that pages count jobs by: this way they read the index only.
            models.Index(
                fields=["cluster", "partition", "phase", "user_level", "task_level", "immune", "group"],
                name="cluster_job_counted",
            ),
            # With both levels: the highest of each node is read from the index only.
            models.Index(
                fields=["cluster", "partition", "phase", "on_node", "user_level", "task_level"],
                name="cluster_job_on_node",
            ),
            models.Index(fields=["cluster", "user"]),
            # A project's history asks for its jobs in the log, in plans and among checkpoints.
            models.Index(fields=["cluster", "project", "job_id"], name="cluster_job_project"),
            models.Index(fields=["ended_at"]),
            models.Index(
                fields=["cluster", "group"], condition=~models.Q(group=""), name="cluster_job_group"
            ),
            models.Index(
                fields=["cluster", "partition"], condition=~models.Q(immune=""), name="cluster_job_immune"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.job_id} {self.name}"


class JobRun(models.Model):
    """One run of a job, as it was seen; `ended` is None while it runs. Times are epoch seconds.

    `held`: what it held of each node when it began, and `partition` where.
    """

    cluster = models.ForeignKey(Cluster, on_delete=models.CASCADE, related_name="job_runs")
    job_id = models.CharField(max_length=40)
    start = models.BigIntegerField()
    restarts = models.PositiveIntegerField()
    ended = models.BigIntegerField(null=True)
    nodes = models.JSONField(default=list)
    partition = models.CharField(max_length=64, blank=True)
    held = models.JSONField(default=dict)

    class Meta:
        ordering = ["start"]
        constraints = [
            models.UniqueConstraint(
                fields=["cluster", "job_id", "start", "restarts"], name="cluster_job_run_unique"
            )
        ]
        indexes = [models.Index(fields=["ended"])]

    def __str__(self) -> str:
        return f"run {self.restarts + 1} of {self.job_id}"
