"""Telling people by e-mail and webhook. Both are off unless these variables switch them on (docs/notices.md)."""

from email.utils import parseaddr
from typing import Any
from urllib.parse import urlsplit

from django.core.exceptions import ImproperlyConfigured

from console.settings.env import env, number


def _sender() -> str:
    """`GIVEWAY_EMAIL_FROM`: an address, with a name before it if one likes."""
    value: str = env.str("GIVEWAY_EMAIL_FROM", default="")
    if GIVEWAY_EMAIL and "@" not in parseaddr(value)[1]:
        raise ImproperlyConfigured(
            f"GIVEWAY_EMAIL_FROM is '{value}'; with GIVEWAY_EMAIL=1 it must be the address that e-mails come from."
        )
    return value


def _mail_server() -> dict[str, Any]:
    """`EMAIL_URL`, for example `smtp+tls://user:password@mail.example.org:587`; it is named in no message."""
    try:
        found: dict[str, Any] = env.email_url("EMAIL_URL", default="smtp://localhost:25")
    except (KeyError, ValueError, ImproperlyConfigured):
        raise ImproperlyConfigured(
            "EMAIL_URL makes no sense; for example smtp://mail.example.org:25."
        ) from None
    return found


def _webhook() -> str:
    """`GIVEWAY_WEBHOOK_URL`, which may hold a secret: it is named in no message."""
    value: str = env.str("GIVEWAY_WEBHOOK_URL", default="")
    address = urlsplit(value)
    if value and (address.scheme not in {"http", "https"} or not address.hostname):
        raise ImproperlyConfigured("GIVEWAY_WEBHOOK_URL must be a whole address: https://host/path.")
    return value


def _webhook_secret() -> str:
    value: str = env.str("GIVEWAY_WEBHOOK_SECRET", default="")
    if GIVEWAY_WEBHOOK_URL and not value:
        raise ImproperlyConfigured(
            "GIVEWAY_WEBHOOK_SECRET is missing; with it the receiver knows that a message is Giveway's."
        )
    return value


GIVEWAY_EMAIL: bool = env.bool("GIVEWAY_EMAIL", default=False)
GIVEWAY_EMAIL_FROM = _sender()
GIVEWAY_EMAIL_DOMAIN: str = env.str("GIVEWAY_EMAIL_DOMAIN", default="").lstrip("@")
GIVEWAY_WEBHOOK_URL = _webhook()
GIVEWAY_WEBHOOK_SECRET = _webhook_secret()
GIVEWAY_NOTICE_EVERY_S = number("GIVEWAY_NOTICE_EVERY_S", 60, 1)
globals().update(_mail_server())  # Django's own names: EMAIL_BACKEND, EMAIL_HOST, …
EMAIL_TIMEOUT = 5
NOTICES_SCHEDULE: dict[str, dict[str, Any]] = {
    "forget-notices": {"task": "notices.forget", "schedule": 3600.0, "options": {"expires": 3600.0}},
}
if GIVEWAY_EMAIL or GIVEWAY_WEBHOOK_URL:
    NOTICES_SCHEDULE["tell"] = {
        "task": "notices.tell",
        "schedule": GIVEWAY_NOTICE_EVERY_S,
        "options": {"expires": 2 * GIVEWAY_NOTICE_EVERY_S},
    }
