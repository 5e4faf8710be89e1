"""What all changes by people share: a reason, and the services' own errors as the API tells them."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.core.exceptions import ValidationError as DjangoValidationError
from rest_framework import serializers
from rest_framework.exceptions import ValidationError

from console.api.errors import ConflictError
from console.api.idempotency import claimed
from console.core.concurrent_changes import ChangedSinceError
from console.core.translate import resay
from scheduler.contracts.errors import InputError

REASON = "reason"


class ReasonSerializerField(serializers.CharField):
    """Why: it stands in the audit log for good."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**{"max_length": 1000, "help_text": "Why; it stands in the audit log.", **kwargs})


class VersionField(serializers.IntegerField):
    """The version or revision that somebody has read, from 1."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**{"min_value": 1, "max_value": 2**31 - 1, **kwargs})


@contextmanager
def changing(inside: str = "") -> Iterator[None]:
    """Call services in this, as `reading` has it. An `Idempotency-Key` begins its transaction here."""
    with reading(inside):
        claimed()
        yield


@contextmanager
def reading(inside: str = "") -> Iterator[None]:
    """Read contracts in this: errors become the API's, with fields named as in the body.

    `inside` is the key of the body under which the service's own fields stand; the reason is always beside it.
    """
    try:
        yield
    except ChangedSinceError as error:
        raise ConflictError(str(error)) from error
    except InputError as error:
        raise ValidationError({inside + error.path.removeprefix("$"): [resay(error.message)]}) from error
    except DjangoValidationError as error:
        detail: dict[str, Any] = serializers.as_serializer_error(error)
        beside = {REASON: detail.pop(REASON)} if REASON in detail else {}
        raise ValidationError(({inside: detail} if inside and detail else detail) | beside) from error
