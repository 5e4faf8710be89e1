"""What the API itself remembers."""

from django.conf import settings
from django.db import models

LONGEST_KEY = 200


class IdempotencyKey(models.Model):
    """The answer to a write, kept for whoever sends it again under the same key (`console.api.idempotency`)."""

    person = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    key = models.CharField(max_length=LONGEST_KEY)
    fingerprint = models.CharField(max_length=64)
    """Of the request: method, address and body."""
    status = models.PositiveSmallIntegerField(default=0)
    """0 only inside the transaction that answers."""
    body = models.TextField(blank=True)
    secret = models.BooleanField(default=False)
    """The answer held a secret and was not written down."""
    created_at = models.DateTimeField(db_index=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["person", "key"], name="api_idempotency_key_once")]

    def __str__(self) -> str:
        return f"{self.person_id} {self.key}"
