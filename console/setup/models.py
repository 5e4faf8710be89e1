"""What the first minutes keep: the one-time code, invitations, what the doctor found, which steps were put off.

Secrets are kept as hashes only: who reads the database can use neither a code nor an invitation.
"""

from datetime import timedelta
from typing import Any

from django.db import models
from django.db.models.functions import Lower
from django.utils.translation import gettext_lazy as _

from console.accounts.models import Role
from console.core import clock
from console.health.doctor.findings import told_again


class SetupCode(models.Model):
    """The code with which somebody takes the first administrator's seat; there is at most one."""

    code_hash = models.CharField(max_length=64)
    expires_at = models.DateTimeField()

    def __str__(self) -> str:
        return f"until {self.expires_at}"


class PutOff(models.Model):
    """A step that somebody has put off; it can be come back to."""

    step = models.CharField(max_length=20, unique=True)
    by = models.CharField(max_length=150)

    def __str__(self) -> str:
        return self.step


EXAMINED_EVERY = timedelta(minutes=5)
"""What was found is looked at again so often, asked for or not: else a fault of the first minute stays on the page."""


class Examination(models.Model):
    """What the doctor found last, as the worker sees the installation. Pages ask for one and read it here."""

    cluster = models.OneToOneField("cluster.Cluster", on_delete=models.CASCADE, related_name="examination")
    asked_at = models.DateTimeField(null=True)
    examined_at = models.DateTimeField(null=True)
    worst = models.CharField(max_length=4, blank=True)
    findings = models.JSONField(default=list)
    """What was found, each with its sentences as codes and parameters: read it by `told`."""
    accounts = models.JSONField(default=dict)
    """Slurm's accounting at that time: `kept`, `fault`, and `accounts` with `name`, `parent` and `users` each."""

    def __str__(self) -> str:
        return f"{self.cluster}: {self.worst or 'not yet'}"

    @property
    def told(self) -> list[dict[str, Any]]:
        """The findings with their sentences."""
        return [told_again(each) for each in self.findings]

    @property
    def waits(self) -> bool:
        """Whether somebody has asked and the worker has not come to it."""
        return self.asked_at is not None and (self.examined_at is None or self.examined_at < self.asked_at)

    @property
    def is_old(self) -> bool:
        """Whether a worker should have looked again by now."""
        return self.examined_at is not None and clock.now() - self.examined_at > 2 * EXAMINED_EVERY


class Invitation(models.Model):
    """An account that is to be: whoever has the link chooses its password, once, until it ends."""

    key_hash = models.CharField(max_length=64, unique=True)
    username = models.CharField(_("user name"), max_length=150)
    role = models.CharField(max_length=20, choices=Role.choices)
    email = models.EmailField(blank=True)
    invited_by = models.CharField(max_length=150)
    created_at = models.DateTimeField()
    expires_at = models.DateTimeField()
    used_at = models.DateTimeField(null=True)
    withdrawn_at = models.DateTimeField(null=True)
    partitions = models.JSONField(default=list)
    """Cluster and name of the partitions that came with it: their administrator from the invitation on."""
    projects = models.JSONField(default=list)
    """Cluster and code of the projects that came with it."""
    taken_back_at = models.DateTimeField(null=True)
    """When these rights were taken back, because it was withdrawn or has ended unused."""

    class Meta:
        ordering = ["-created_at"]
        constraints = [
            models.UniqueConstraint(
                Lower("username"),
                condition=models.Q(used_at=None, withdrawn_at=None, taken_back_at=None),
                name="setup_one_open_invitation",
            )
        ]

    def __str__(self) -> str:
        return self.username
