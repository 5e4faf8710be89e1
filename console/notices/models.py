"""What somebody is to be told."""

from django.db import models
from django.utils.translation import gettext_lazy as _


class NoticeKind(models.TextChoices):
    """What happened to the job of whom is told."""

    STOPPED = "stopped", _("Stopped")
    RESUMED = "resumed", _("Running again")
    STARTED = "started", _("Room was made, it runs")
    UNDONE = "undone", _("Plan undone")
    APPROVAL = "approval", _("A plan waits for approval")


class Notice(models.Model):
    """One thing that one person is to be told. `user` is the cluster's user name; `key` keeps it from being told twice.

    `mail_at`, `hook_at`: when it was sent that way.
    """

    kind = models.CharField(max_length=10, choices=NoticeKind.choices)
    key = models.CharField(max_length=100, unique=True)
    user = models.CharField(max_length=150)
    cluster = models.CharField(max_length=64)
    partition = models.CharField(max_length=64)
    job_id = models.CharField(max_length=40)
    plan = models.PositiveBigIntegerField()
    text = models.TextField()
    made_at = models.DateTimeField()
    mail_at = models.DateTimeField(null=True)
    hook_at = models.DateTimeField(null=True)
    attempts = models.PositiveSmallIntegerField(default=0)

    class Meta:
        ordering = ["id"]
        indexes = [models.Index(fields=["mail_at"]), models.Index(fields=["hook_at"])]

    def __str__(self) -> str:
        return f"{self.kind} {self.job_id} to {self.user}"
