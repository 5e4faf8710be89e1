"""A page whose top is sent while the rest is made: a browser has its styles, its scripts and what they ask for by then.

The top is all that stands before one part of the page (`console.core.htmx`), the rest that part and what follows.
Whether the page is there, and for whom, is settled before anything is sent.
"""

from collections.abc import Callable, Iterator, Mapping
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

LATER = SafeString("<!-- the part that comes later -->")
"""Stands where the part will be. What people have named is escaped, so nobody else can write this."""
Context = Mapping[str, Any]


def render_in_parts(
    request: HttpRequest, template: str, part: str, top: Context, rest: Callable[[], Context]
) -> HttpResponseBase:
    """The page in two parts for a browser that opens it; whole for anybody else.

    `top`: what the template needs around the part; `rest`: what the part needs beside it. In the template `comes_later`
    stands in the place of the part.
    """
    if not _is_opened(request) or part_name(request, template):
        return render_page(request, template, {**top, **rest()})
    around = {**top, "is_part": False, "comes_later": LATER}
    before, after = render_to_string(template, around, request).split(LATER)
    language = translation.get_language()

    def parts() -> Iterator[str]:
        yield before
        with translation.override(language):
            later = _later(request, f"{template}#{part}", lambda: {**top, **rest(), "is_part": False})
        yield later + after

    response = StreamingHttpResponse(parts())
    response["X-Accel-Buffering"] = "no"  # nginx would keep the top until it has more
    return response


def _is_opened(request: HttpRequest) -> bool:
    """Whether a browser shows the answer as a page, and reads it while it comes."""
    return request.method == "GET" and request.headers.get("Sec-Fetch-Dest") == "document"


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
