"""Accounts of the console. What a person may do follows from the role and from what is theirs elsewhere."""

from django.contrib.auth.models import AbstractUser
from django.db import models
from django.utils.translation import gettext_lazy as _


class Role(models.TextChoices):
    """Roles over the whole installation. Partition administrators and project managers are named at the
    partition and at the project; here they are viewers."""

    ADMINISTRATOR = "administrator", _("Administrator")
    AUDITOR = "auditor", _("Auditor")
    VIEWER = "viewer", _("Viewer")


class User(AbstractUser):
    """A person's account; `slurm_user` links it to the user name on the cluster.

    `is_superuser` and `is_staff` are never set: the role says it all.
    """

    role = models.CharField(_("role"), max_length=20, choices=Role.choices, default=Role.VIEWER)
    cluster_user = models.CharField(
        _("user name on the cluster"), max_length=64, blank=True, help_text=_("Empty: the same as here.")
    )

    class Meta(AbstractUser.Meta):
        constraints = [
            models.CheckConstraint(condition=models.Q(role__in=Role.values), name="accounts_user_role_known")
        ]

    @property
    def slurm_user(self) -> str:
        """The user name on the cluster."""
        return self.cluster_user or self.username
