"""Accounts of the console. What a person may do follows from the role and from what is theirs elsewhere."""

from datetime import datetime

from django.contrib.auth.models import AbstractUser
from django.db import models
from django.utils.crypto import salted_hmac
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
    language = models.CharField(_("language"), max_length=10, blank=True, editable=False)
    """The code of the language that the person chose; empty: none, the cookie and the browser say it."""
    session_generation = models.PositiveIntegerField(default=0, editable=False)
    """Part of what every session is bound to: one more, and all sessions of the account have ended."""

    class Meta(AbstractUser.Meta):
        constraints = [
            models.CheckConstraint(condition=models.Q(role__in=Role.values), name="accounts_user_role_known")
        ]

    @property
    def slurm_user(self) -> str:
        """The user name on the cluster."""
        return self.cluster_user or self.username

    def _get_session_auth_hash(self, secret: str | None = None) -> str:
        """Django's own, over the password, and over the generation of sessions when there has been an end to some."""
        bound_to = f"{self.password}|{self.session_generation}" if self.session_generation else self.password
        salt = "django.contrib.auth.models.AbstractBaseUser.get_session_auth_hash"
        return salted_hmac(salt, bound_to, secret=secret, algorithm="sha256").hexdigest()


class Scope(models.TextChoices):
    """What an API token is good for; never more than its account may."""

    READ = "read", _("Read")
    WRITE = "write", _("Read and change")
    CHECKPOINTS = "checkpoints", _("Acknowledge checkpoints only")


class ApiToken(models.Model):
    """A token for scripts. Only its SHA-256 is kept: it is 160 random bits, so there is nothing to guess from it."""

    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="api_tokens")
    name = models.CharField(max_length=60)
    scope = models.CharField(max_length=12, choices=Scope.choices)
    digest = models.CharField(max_length=64, unique=True, editable=False)
    by_password = models.BooleanField(default=False)
    """Made by a script with name and password (`giveway login`): the oldest of too many gives way."""
    created_at = models.DateTimeField()
    ends_at = models.DateTimeField(null=True)
    """None: only for tokens from before tokens had an end."""
    used_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["-created_at", "-pk"]
        constraints = [
            models.UniqueConstraint(fields=["user", "name"], name="accounts_token_name_once"),
            models.CheckConstraint(
                condition=models.Q(scope__in=Scope.values), name="accounts_token_scope_known"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.user}: {self.name}"

    def has_ended(self, at: datetime) -> bool:
        """Whether its end date is past."""
        return self.ends_at is not None and self.ends_at <= at


class Identity(models.Model):
    """Who an account is at an identity provider: found again by its issuer and subject, never by a name or e-mail."""

    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="identities")
    issuer = models.CharField(max_length=255)
    subject = models.CharField(max_length=255)
    linked_at = models.DateTimeField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["issuer", "subject"], name="accounts_identity_once"),
        ]

    def __str__(self) -> str:
        return f"{self.user} at {self.issuer}"


class KnownAddress(models.Model):
    """An address from which an account was signed in to, as a hash: there, others' guesses do not lock it out."""

    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="known_addresses")
    address = models.CharField(max_length=64)
    seen_at = models.DateTimeField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["user", "address"], name="accounts_known_address_once"),
        ]

    def __str__(self) -> str:
        return f"{self.user}, {self.seen_at:%F}"


class Tries(models.Model):
    """Failed tries of one name, or from one address, as a hash: so many since `began_at`."""

    key = models.CharField(max_length=64, unique=True)
    began_at = models.DateTimeField(db_index=True)
    failures = models.PositiveIntegerField(default=0)

    def __str__(self) -> str:
        return f"{self.failures} since {self.began_at:%F %R}"
