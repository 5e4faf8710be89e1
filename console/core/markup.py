"""HTML that is written in code, where a page has thousands of pieces of it. What is not our own goes through `text`."""

import html
from datetime import datetime
from functools import lru_cache
from urllib.parse import quote

from django.urls import get_script_prefix, reverse
from django.utils import timezone
from django.utils.html import escape, format_html
from django.utils.http import RFC3986_SUBDELIMS
from django.utils.safestring import SafeString


def text(value: str) -> str:
    """A value as it may stand on a page: escaped, unless it is HTML already.

    The same as Django's `conditional_escape`, which also looks for lazy texts and takes eight times as long.
    """
    return value if isinstance(value, SafeString) else html.escape(value)


def job_address(jobs: str, job_id: str) -> str:
    """The page of a job, as `{% url "job" job_id %}` writes it; `jobs` is `{% url "jobs" %}`, asked for once a page."""
    # Nearly all are numbers.
    plain = job_id.isdecimal() and job_id.isascii()
    return f"{jobs}{job_id if plain else quote(job_id, safe=RFC3986_SUBDELIMS + '/~:@')}/"


def link_to(view: str, argument: str | int) -> SafeString:
    """A link to the page of something, which is also what stands there."""
    return _link_to(view, argument, get_script_prefix())


@lru_cache(maxsize=4096)
def _link_to(view: str, argument: str | int, _prefix: str) -> SafeString:
    """Kept: the same few users, partitions and plans stand in row after row. Always escaped, whoever asked first."""
    return format_html('<a href="{}">{}</a>', reverse(view, args=[argument]), escape(str(argument)))


def exact_time(moment: datetime) -> SafeString:
    """A moment to the second, with its zone: the reader's."""
    said = _clock_time(moment)
    return SafeString(f'<time datetime="{moment.isoformat()}">{said}</time>')


def time_element(moment: datetime, style: str, said: str) -> SafeString:
    """A moment in words, kept current by live.js, with the exact time on hover."""
    exact = _clock_time(moment)
    machine = moment.isoformat(timespec="seconds")
    return SafeString(f'<time datetime="{machine}" data-age="{style}" title="{exact}">{text(said)}</time>')


def _clock_time(moment: datetime) -> str:
    return f"{timezone.localtime(moment):%Y-%m-%d %H:%M:%S %Z}"
