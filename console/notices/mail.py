"""Notices by e-mail: one e-mail per person and round."""

import contextlib
import re
import smtplib
import time

from django.conf import settings
from django.core.mail import EmailMessage, get_connection
from django.core.mail.backends.base import BaseEmailBackend
from django.db.models import Q
from django.utils.translation import gettext as _

from console.accounts.models import User
from console.core import clock
from console.notices import texts
from console.notices.models import Notice
from console.notices.outbox import MAIL
from console.notices.recipients import Spoken

MOST_IN_ONE = 200
ONE_MANS_FAULT = (smtplib.SMTPRecipientsRefused, smtplib.SMTPDataError, smtplib.SMTPSenderRefused)
"""What the server says about one e-mail; anything else is about the server, and the round is over."""
_USER_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]{0,63}")


def send_mails(until: float) -> int:
    """Send what is due, while there is time (`time.monotonic()`); returns how many e-mails were sent."""
    sent, spoken = 0, Spoken()
    with contextlib.ExitStack() as stack:
        connection: BaseEmailBackend | None = None
        while time.monotonic() < until and (user := MAIL.next_user(clock.now())) is not None:
            notices = MAIL.claim(clock.now(), MOST_IN_ONE, user=user)
            address = address_of(user)
            if notices and not address:
                MAIL.give_up(notices, f"no e-mail address is known of {user!r}")
            if not notices or not address:
                continue
            try:
                connection = connection or _open(stack)
                connection.send_messages([spoken.to(user, message_for, address, notices)])
            except ONE_MANS_FAULT as error:
                MAIL.failed(notices, str(error))
            except (OSError, smtplib.SMTPException) as error:
                MAIL.failed(notices, str(error))
                break
            else:
                MAIL.sent(notices)
                sent += 1
    return sent


def _open(stack: contextlib.ExitStack) -> BaseEmailBackend:
    """One connection for the whole round. Silent where nothing is lost: when it is closed."""
    connection: BaseEmailBackend = get_connection()
    connection.open()
    stack.callback(_close, connection)
    return connection


def _close(connection: BaseEmailBackend) -> None:
    connection.fail_silently = True
    connection.close()


def address_of(user: str) -> str:
    """Where to write to a user of the cluster: the account's own address, else the name at the site's domain.

    Empty when neither is known.
    """
    accounts = User.objects.filter(Q(cluster_user=user) | Q(cluster_user="", username=user), is_active=True)
    own = accounts.exclude(email="").order_by("id").values_list("email", flat=True).first()
    if own:
        return own
    domain: str = settings.GIVEWAY_EMAIL_DOMAIN
    return f"{user}@{domain}" if domain and _USER_NAME.fullmatch(user) else ""


def message_for(address: str, notices: list[Notice]) -> EmailMessage:
    """One e-mail with all of them. A repeat of it has the same Message-ID."""
    foot = _("`giveway why JOBID` tells more. Giveway sends this by itself; answers are not read.")
    body = "\n\n".join([*map(texts.shown, notices), f"-- \n{foot}"])
    numbers = ",".join(str(notice.pk) for notice in notices)
    host = settings.GIVEWAY_EMAIL_FROM.rpartition("@")[2].strip("<> ")
    return EmailMessage(
        subject=texts.subject(notices),
        body=body + "\n",
        from_email=settings.GIVEWAY_EMAIL_FROM,
        to=[address],
        headers={
            "Auto-Submitted": "auto-generated",
            "Message-ID": f"<giveway.{notices[0].pk}.{notices[-1].pk}.{len(notices)}@{host}>",
            "X-Giveway-Notices": numbers,
        },
    )
