"""Middleware: one id per request (also in the audit log), and caches that keep fragments apart from pages."""

import time
import uuid
from collections.abc import Callable

from django.http import HttpRequest, HttpResponse
from django.utils.cache import patch_vary_headers

from console.core import request_log

GetResponse = Callable[[HttpRequest], HttpResponse]


class RequestIdMiddleware:
    """Give every request an id, `request.request_id`, return it as `X-Request-ID`, and put it into every log line."""

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        request_id = uuid.uuid4().hex
        request.request_id = request_id  # type: ignore[attr-defined]
        before = time.perf_counter()
        token = request_log.current_request.set(request)
        try:
            response = self.get_response(request)
            request_log.tell(request, response, time.perf_counter() - before)
        finally:
            request_log.current_request.reset(token)
        response["X-Request-ID"] = request_id
        return response


class VaryOnHtmxMiddleware:
    """Say that an answer depends on htmx, so that a cache or the back button never shows a bare fragment."""

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self.get_response(request)
        patch_vary_headers(response, ("HX-Request",))
        return response
