"""The token that a measurement tells its results with: signed, for one measurement, each processor once."""

from datetime import timedelta

from django.core import signing
from django.utils.translation import gettext as _

SALT = "giveway.measurement-token/1"
LIFETIME = timedelta(days=1)


class BadMeasurementTokenError(Exception):
    """The token is none of ours, or has run out. The message is for people."""


def make_token(measurement: int) -> str:
    """A token for the measurement with this key."""
    return signing.dumps(measurement, salt=SALT)


def read_token(token: str) -> int:
    """The measurement's key. Raises `BadMeasurementTokenError`."""
    try:
        key = signing.loads(token, salt=SALT, max_age=LIFETIME)
    except signing.SignatureExpired as error:
        raise BadMeasurementTokenError(_("This token has run out.")) from error
    except signing.BadSignature as error:
        raise BadMeasurementTokenError(_("This is no measurement token of this console.")) from error
    if not isinstance(key, int):
        raise BadMeasurementTokenError(_("This is no measurement token of this console."))
    return key
