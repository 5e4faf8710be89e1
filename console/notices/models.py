"""What somebody is to be told."""

from django.db import models
from django.utils.translation import gettext_lazy as _

from console.core.sentence_field import SentenceField


class NoticeKind(models.TextChoices):
    """What happened to whose job, or who is to decide what. `ASKED`, `DECIDED`, `POWER` and `PAUSED` are about no job,
    and they and the last one about no plan."""

    STOPPED = "stopped", _("Stopped")
    RESUMED = "resumed", _("Running again")
    STARTED = "started", _("Room was made, it runs")
    UNDONE = "undone", _("Plan undone")
    LOST = "lost", _("Stopped, and did not come back")
    INCIDENT = "incident", _("An incident")
    APPROVAL = "approval", _("A plan waits for approval")
    ASKED = "asked", _("A request waits for a decision")
    DECIDED = "decided", _("A request was decided")
    PAUSED = "paused", _("A partition was paused")
    POWER = "power", _("A processor stands out")
    MAY_END = "may_end", _("May be cancelled")


class Notice(models.Model):
    """One thing that one person is to be told. `user` is the cluster's user name; `key` keeps it from being told twice.

    For each of the two ways (`mail`, `hook`): `…_due`: when it is to be sent, or sent again (NULL: not that way, done,
    or given up), `…_attempts`: how often sending it was begun, `…_at`: when it was sent.
    """

    kind = models.CharField(max_length=10, choices=NoticeKind.choices)
    key = models.CharField(max_length=250, unique=True)
    user = models.CharField(max_length=150)
    cluster = models.CharField(max_length=64)
    partition = models.CharField(max_length=64)
    job_id = models.CharField(max_length=40)
    plan = models.PositiveBigIntegerField()
    text = SentenceField()
    made_at = models.DateTimeField()
    mail_due = models.DateTimeField(null=True)
    mail_attempts = models.PositiveSmallIntegerField(default=0)
    mail_at = models.DateTimeField(null=True)
    hook_due = models.DateTimeField(null=True)
    hook_attempts = models.PositiveSmallIntegerField(default=0)
    hook_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["id"]
        indexes = [
            models.Index(fields=["mail_due"]),
            models.Index(fields=["hook_due"]),
            models.Index(fields=["kind", "job_id"]),
            models.Index(fields=["made_at"]),
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.job_id} to {self.user}"
