"""Closing an incident: a person says that it was seen, and why it need not be shown any more."""

from django.db import transaction

from console.audit.services import reason_of
from console.steering.actions.incidents import close
from console.steering.models import Incident
from console.steering.operations.pausing import LONGEST_REASON


def close_incident(*, actor: str, incident: Incident, reason: str, request_id: str = "") -> bool:
    """Close it; False when it was closed before. Raises `ValidationError` without a reason.

    It goes on counting towards the pause of its partition: that it was seen does not say that its cause is gone.
    """
    reason = reason_of(actor, reason)[:LONGEST_REASON]
    with transaction.atomic():
        return close(incident, actor=actor, reason=reason, request_id=request_id)
