"""Where every exception becomes an answer. Apart from `errors`: importing DRF's views needs DRF's settings first."""

import logging
from collections.abc import Iterator, Mapping
from typing import Any

from django.conf import settings
from django.core.exceptions import PermissionDenied, RequestDataTooBig
from django.core.exceptions import ValidationError as DjangoValidationError
from django.core.signals import got_request_exception
from django.db import Error as DatabaseError
from django.http import Http404
from django.utils.translation import gettext as _
from rest_framework import exceptions, serializers
from rest_framework.response import Response
from rest_framework.views import exception_handler as drf_exception_handler
from rest_framework.views import set_rollback

from console.accounts.bounded_hashers import BusyError
from console.api.errors import BusyNowError, DatabaseAwayError, DatabaseClosedError, TooLargeError
from console.core.databases import is_closed, is_passing
from console.core.l10n_format import with_label

logger = logging.getLogger(__name__)

WHOLE = frozenset({"non_field_errors", "__all__"})
"""Under these keys Django and DRF put what is wrong with an object as a whole."""


def exception_handler(exc: Exception, context: dict[str, Any]) -> Response:
    """DRF's hook: any exception of a view becomes a response of the one shape.

    What nobody foresaw is logged, reported as Django reports it (`got_request_exception`) and answered with 500.
    """
    known = _as_api_exception(exc)
    response = drf_exception_handler(known, context) if known else None
    if known is None or response is None:
        return _unforeseen(exc, context)
    response.data = _body(known)
    if tag := getattr(known, "tag", ""):
        response["ETag"] = tag
    return response


def _as_api_exception(exc: Exception) -> exceptions.APIException | None:
    """The exception as DRF knows it, or None when it is a defect of ours."""
    match exc:
        case exceptions.APIException():
            return exc
        case DjangoValidationError():
            return exceptions.ValidationError(serializers.as_serializer_error(exc))
        case RequestDataTooBig():
            return TooLargeError(
                _("At most %(most)d bytes are read: send less at once.")
                % {"most": settings.DATA_UPLOAD_MAX_MEMORY_SIZE}
            )
        case Http404():
            return exceptions.NotFound(*(said for said in exc.args if not _is_of_a_query(said)))
        case BusyError():
            return BusyNowError()
        case DatabaseError() if is_passing(exc) or is_closed(exc):
            return DatabaseClosedError() if is_closed(exc) else DatabaseAwayError()
        case PermissionDenied():
            return exceptions.PermissionDenied(*exc.args)
    return None


def _is_of_a_query(said: object) -> bool:
    """Django's "No Study matches the given query.": it names a class of ours, in English."""
    return str(said).endswith(" matches the given query.")


def _unforeseen(exc: Exception, context: dict[str, Any]) -> Response:
    request = context["request"]
    request_id = getattr(request, "request_id", "")
    logger.error("request %s failed", request_id, exc_info=exc)
    set_rollback()
    got_request_exception.send(sender=None, request=request)
    message = _("Giveway failed here; its log tells more under request %(id)s.") % {"id": request_id}
    return Response({"error": {"code": "server_error", "message": message, "fields": {}}}, status=500)


def _body(exc: exceptions.APIException) -> dict[str, Any]:
    if not isinstance(exc, exceptions.ValidationError):
        return {"error": {"code": _code(exc), "message": _sentence(exc.detail), "fields": {}}}
    fields: dict[str, list[str]] = {}
    whole: list[str] = []
    for path, message in flatten(exc.detail):
        (fields.setdefault(path, []) if path else whole).append(message)
    return {"error": {"code": "invalid", "message": _summary(whole, fields), "fields": fields}}


def _code(exc: exceptions.APIException) -> str:
    codes = exc.get_codes()
    return codes if isinstance(codes, str) else exc.default_code


def _sentence(detail: Any) -> str:
    """The words of an error; some of DRF's own carry them in a mapping."""
    return str(detail["detail"]) if isinstance(detail, Mapping) and "detail" in detail else str(detail)


def _summary(whole: list[str], fields: Mapping[str, list[str]]) -> str:
    """The first fault in one line, and how many more there are."""
    faults = whole + [with_label(path, said) for path, messages in fields.items() for said in messages]
    if len(faults) > 1:
        return _("%(fault)s (and %(n)d more)") % {"fault": faults[0], "n": len(faults) - 1}
    return faults[0] if faults else _("The request is not valid.")


def flatten(detail: Any, path: str = "") -> Iterator[tuple[str, str]]:
    """DRF's nested errors as (JSON path, message); the path is empty for the body as a whole."""
    if isinstance(detail, Mapping):
        for key, inner in detail.items():
            yield from flatten(inner, path if key in WHOLE else _join(path, key))
    elif isinstance(detail, list | tuple):
        for index, inner in enumerate(detail):
            yield from flatten(inner, f"{path}[{index}]" if isinstance(inner, Mapping | list) else path)
    else:
        yield path, str(detail)


def _join(path: str, key: Any) -> str:
    if isinstance(key, int):
        return f"{path}[{key}]"
    return f"{path}.{key}" if path else str(key)
