"""One shape for every error: `{"error": {"code", "message", "fields"}}`; `handler` gives it to each.

`code` is for programs, `message` is one plain sentence for people, `fields` maps the JSON path of each field at
fault (`policy.levels[1].name`) to what is wrong with it; it is empty when no field is to blame.
"""

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from rest_framework import exceptions, serializers

from console.accounts.bounded_hashers import RETRY_S
from console.core import databases
from console.core.error_pages import AWAY, AWAY_SAID, CLOSED, CLOSED_SAID


class ErrorBodySerializer(serializers.Serializer):
    """What went wrong."""

    code = serializers.CharField(help_text="For programs: `invalid`, `not_found`, `permission_denied`, …")
    message = serializers.CharField(help_text="One sentence for people.")
    fields = serializers.DictField(  # type: ignore[assignment]
        child=serializers.ListField(child=serializers.CharField()),
        help_text="JSON path of each field at fault, and what is wrong with it.",
    )


class ErrorSerializer(serializers.Serializer):
    """The answer to every request that failed."""

    error = ErrorBodySerializer()


class ConflictError(exceptions.APIException):
    """What the request was based on has changed meanwhile."""

    status_code = 409
    default_code = "changed_since"
    default_detail = gettext_lazy("It has changed since you read it. Read it again and repeat your change.")


class PreconditionError(exceptions.APIException):
    """What is there is not what `If-Match` names, or is what `If-None-Match` names. `tag`: of what is there."""

    status_code = 412
    default_code = "precondition_failed"

    def __init__(self, detail: str, tag: str) -> None:
        super().__init__(detail)
        self.tag = tag


class KeyReusedError(exceptions.APIException):
    """The idempotency key stands for another request."""

    status_code = 422
    default_code = "idempotency_key_reused"
    default_detail = gettext_lazy(
        "You have sent another request under this idempotency key. Take a new key for a new request."
    )


class AnswerNotKeptError(exceptions.APIException):
    """The request was carried out before; its answer is gone."""

    status_code = 409
    default_code = "answer_not_kept"
    default_detail = gettext_lazy(
        "This was done when you first sent it; its answer held a secret, so it was not kept."
    )


class TooLargeError(exceptions.APIException):
    """The body is larger than any sensible one."""

    status_code = 413
    default_code = "too_large"


class LockedOutError(exceptions.APIException):
    """Too many wrong passwords for this name, or from this address."""

    status_code = 429
    default_code = "locked_out"
    default_detail = gettext_lazy(
        "Too many wrong passwords. Wait a quarter of an hour, at most an hour, and try again."
    )

    def __init__(self, wait: int) -> None:
        super().__init__()
        self.wait = wait


class SpentAllowanceError(exceptions.APIException):
    """The changes of this account have kept the console busy for long enough."""

    status_code = 429
    default_code = "allowance_spent"

    def __init__(self, wait: int) -> None:
        super().__init__(
            _(
                "What you sent here has kept the console busy, so this was not done. Send it again in %(wait)s s."
            )
            % {"wait": wait}
        )
        self.wait = wait


class BusyNowError(exceptions.APIException):
    """Too many passwords are being hashed just now; this one was not looked at."""

    status_code = 503
    default_code = "busy"
    default_detail = gettext_lazy(
        "Too many passwords are being checked just now. Try again in a few seconds."
    )
    wait = RETRY_S


class UnavailableError(exceptions.APIException):
    """Something that has to be asked first does not answer."""

    status_code = 503
    default_code = "unavailable"
    wait = 10


class DatabaseAwayError(exceptions.APIException):
    """The database is locked by somebody else, or does not answer."""

    status_code = 503
    default_code = AWAY
    default_detail = AWAY_SAID
    wait = databases.RETRY_S


class DatabaseClosedError(exceptions.APIException):
    """The database takes no changes: its disk is full, or can be read only."""

    status_code = 503
    default_code = CLOSED
    default_detail = CLOSED_SAID
    wait = databases.CLOSED_RETRY_S
