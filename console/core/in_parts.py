"""A page whose top is sent while the rest is made: a browser has its styles, its scripts and what they ask for by then.

The top is all that stands before one part of the page (`console.core.htmx`), the rest that part and what follows.
Whether the page is there, and for whom, is settled before anything is sent.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import Any

import structlog
from django.http import HttpRequest, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.template.loader import render_to_string
from django.utils import translation
from django.utils.safestring import SafeString

from console.core.htmx import part_name, render_page
from console.core.request_log import current_request

log = structlog.get_logger("console.request")

Context = Mapping[str, Any]


def render_in_parts(
    request: HttpRequest,
    template: str,
    part: str,
    top: Context,
    rest: Callable[[], Context],
    beforehand: Mapping[str, Callable[[], SafeString]] = MappingProxyType({}),
) -> HttpResponseBase:
    """The page in parts for a browser that opens it; whole for anybody else.

    `top`: what the template needs around the part; `rest`: what the part needs beside it. In the template `comes_later`
    stands in the place of the part. `beforehand`: markup that is made and sent before the part, by the name that stands
    in its place, in their order. A page that is sent whole is without it, and so is one for which it cannot be made.
    """
    if not _is_opened(request) or part_name(request, template):
        return render_page(request, template, {**top, **rest()})
    pieces = {name: _beforehand(request, make) for name, make in beforehand.items()}
    pieces["comes_later"] = lambda: _later(
        request, f"{template}#{part}", lambda: {**top, **rest(), "is_part": False}
    )
    before, after = _around(template, {**top, "is_part": False}, pieces, request)
    language = translation.get_language()

    def parts() -> Iterator[str]:
        made = ""
        for text, make in zip(before, pieces.values(), strict=True):
            yield made + text
            with translation.override(language):
                made = make()
        yield made + after

    response = StreamingHttpResponse(parts())
    response["X-Accel-Buffering"] = "no"  # nginx would keep the top until it has more
    return response


def _around(
    template: str, context: Context, names: Iterable[str], request: HttpRequest
) -> tuple[list[str], str]:
    """What stands before the place of each name, and what after the last."""
    # What people have named is escaped, so nobody else can write a mark.
    marks = {name: SafeString(f"<!-- {name}: in a moment -->") for name in names}
    before: list[str] = []
    after: str = render_to_string(template, {**context, **marks}, request)
    for name, mark in marks.items():
        text, found, after = after.partition(mark)
        if not found:
            raise LookupError(f"{template} has no place for {name}")
        before.append(text)
    return before, after


def _is_opened(request: HttpRequest) -> bool:
    """Whether a browser shows the answer as a page, and reads it while it comes."""
    return request.method == "GET" and request.headers.get("Sec-Fetch-Dest") == "document"


def _beforehand(request: HttpRequest, make: Callable[[], SafeString]) -> Callable[[], str]:
    """The page is whole without it, and its scripts ask for what they do not find."""

    def made() -> str:
        token = current_request.set(request)
        try:
            return make()
        except Exception:
            log.exception("a piece of a page could not be made", path=request.path)
            return ""
        finally:
            current_request.reset(token)

    return made


def _later(request: HttpRequest, template: str, context: Callable[[], Context]) -> str:
    """The part. Its status is sent already: if it cannot be made, the page says so in its place, and asks again."""
    token = current_request.set(request)
    try:
        return render_to_string(template, context(), request)
    except Exception:
        log.exception("a part of a page could not be made", path=request.path)
        return render_to_string("_part_failed.html")
    finally:
        current_request.reset(token)
