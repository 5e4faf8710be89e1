"""Middleware: one id per request (also in the audit log), compressed pages, and caches that keep fragments apart from
pages."""

import re
import time
import uuid
from collections.abc import Callable, Iterator
from typing import cast

from django.http import HttpRequest, HttpResponse, HttpResponseNotAllowed, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.middleware.gzip import GZipMiddleware, re_accepts_gzip
from django.template import loader
from django.utils.cache import patch_cache_control, patch_vary_headers

from console.core import request_log
from console.core.pieces import compressed

DELETE, PICTURES = 0x7F, 0x2400
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


class CompressPagesMiddleware(GZipMiddleware):
    """Compress pages and their parts: a node map is 400 kB of text that is 30 kB compressed, and it is polled.

    A page may hold a secret beside what somebody else has chosen (a job's name, the address): BREACH needs both.
    Django masks the CSRF token anew in every page, and its middleware adds a random length to every answer; sessions
    and stored tokens stand in no page. Everything else goes as it is: an ETag of the API must stay strong, and an
    export is streamed.
    """

    def process_response(self, request: HttpRequest, response: HttpResponseBase) -> HttpResponseBase:
        """Only HTML; of a page that is sent in parts each part goes out whole, which Django's own would hold back."""
        if not _is_html(response):
            return response
        if not isinstance(response, StreamingHttpResponse):
            return super().process_response(request, response)
        patch_vary_headers(response, ("Accept-Encoding",))
        if re_accepts_gzip.search(request.META.get("HTTP_ACCEPT_ENCODING", "")):
            response.streaming_content = compressed(_parts(response))
            response.headers["Content-Encoding"] = "gzip"
        return response


def _is_html(response: HttpResponseBase) -> bool:
    return response.get("Content-Type", "").startswith("text/html")


def _parts(response: StreamingHttpResponse) -> Iterator[bytes]:
    """Its content; nothing here is asynchronous."""
    return cast("Iterator[bytes]", response.streaming_content)


class VaryOnHtmxMiddleware:
    """Say that an answer depends on htmx, so that a cache or the back button never shows a bare fragment."""

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self.get_response(request)
        patch_vary_headers(response, ("HX-Request",))
        return response


class KeepNothingMiddleware:
    """Say that no cache keeps an answer, nor the browser's own: whoever sits down after signing out sees nothing."""

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self.get_response(request)
        if not response.has_header("Cache-Control"):
            patch_cache_control(response, private=True, no_store=True)
        return response


class VisibleTextMiddleware:
    """Put a visible sign for each control character in a page: people name jobs, and a saved page is read in terminals.

    Escaping leaves them as they are: to HTML they mean nothing, to a terminal they are commands.
    """

    CONTROL = re.compile(rb"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]|\xc2[\x80-\x9f]")

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        response: HttpResponseBase = self.get_response(request)
        if not _is_html(response):
            return response
        if isinstance(response, StreamingHttpResponse):
            response.streaming_content = map(_visible, _parts(response))
        elif isinstance(response, HttpResponse):
            response.content = _visible(response.content)
        return response


def _visible(text: bytes) -> bytes:
    return VisibleTextMiddleware.CONTROL.sub(_picture, text)


def _picture(found: re.Match[bytes]) -> bytes:
    """Unicode's picture of a control character, such as ␛; those above 127 have none."""
    code = ord(found[0].decode())
    if code == DELETE:
        return "␡".encode()
    return (chr(PICTURES + code) if code < DELETE else "\N{REPLACEMENT CHARACTER}").encode()


class NotAllowedPageMiddleware:
    """Say something to who opens an address that only takes posts (from a history, a bookmark): Django says nothing."""

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self.get_response(request)
        if (
            isinstance(response, HttpResponseNotAllowed)
            and not response.content
            and request.accepts("text/html")
        ):
            response.content = loader.render_to_string("405.html", request=request)
        return response
