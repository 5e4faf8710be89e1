"""The link of an invitation by e-mail, where e-mail is set up. It is shown on the page in any case."""

import smtplib

import structlog
from django.conf import settings
from django.core.mail import EmailMessage, get_connection
from django.utils.translation import gettext as _

from console.setup.models import Invitation

log = structlog.get_logger(__name__)
TIMEOUT_S = 10


def mail(invitation: Invitation, link: str) -> bool | None:
    """Whether it was sent; None when there is no address or e-mail is off."""
    if not invitation.email or not settings.GIVEWAY_EMAIL:
        return None
    text = _("%(who)s invites you to Giveway. Choose a password here; the link works once:") % {
        "who": invitation.invited_by
    }
    message = EmailMessage(
        subject=_("Your account on Giveway"),
        body=f"{text}\n\n{link}\n",
        to=[invitation.email],
        connection=get_connection(timeout=TIMEOUT_S),
    )
    try:
        return message.send() == 1
    except (OSError, smtplib.SMTPException) as error:
        log.warning("an invitation was not mailed", fault=type(error).__name__)
        return False
