"""No secret in a log line, whoever wrote the line: by the name it goes under, by its form, and by its value.

1. By name: a field called `password`, `token`, `authorization` and the like shows no value.
2. By form: a password in an address, a bearer or API token, `password=…` inside a text.
3. By value: what the settings hold as secrets, wherever it turns up: in a message, a traceback, a field of any name.
The last two look at the finished line, so nothing gets past them by another way into it.
"""

import json
import re
from collections.abc import Iterator, Mapping, MutableMapping
from functools import cache
from typing import Any
from urllib.parse import quote, unquote, urlsplit

from scheduler.model.sentence import Listed, Param, Sentence

HIDDEN = "[hidden]"
SHORTEST = 6
"""A shorter value is no secret that could be told from ordinary words."""

_NAME = r"[\w-]*(?:password|passwd|secret|token|authorization|api[_-]?key|cookie|session[_-]?id|credentials?)[\w-]*"
_BY_NAME = re.compile(_NAME, re.IGNORECASE)
_FORMS = (
    # A password in an address: scheme://user:password@host
    (
        re.compile(r"(?P<keep>[a-z][a-z0-9+.-]*://[^\s/:@'\"]*:)[^\s/@'\"]+(?=@)", re.IGNORECASE),
        rf"\g<keep>{HIDDEN}",
    ),
    (
        re.compile(
            r"(?P<keep>\b(?:Bearer|Token|Basic)\s+)(?=[\w.~+/=-]*\d|[\w.~+/=-]{20})[\w.~+/=-]{6,}",
            re.IGNORECASE,
        ),
        rf"\g<keep>{HIDDEN}",
    ),
    # name=value and name: value, with or without quotes, also as JSON has it inside a text (\")
    (
        re.compile(
            rf"(?P<keep>\b{_NAME}\\?['\"]?\s*(?:=|:\s)\s*\\?['\"]?)(?!\[hidden\])(?:(?:Bearer|Token|Basic)\s+)?"
            r"[^\s&'\",;)}\\]+",
            re.IGNORECASE,
        ),
        rf"\g<keep>{HIDDEN}",
    ),
    # What Django has signed (checkpoint tokens, links): payload:time:signature
    (re.compile(r"[\w.-]{8,}:[0-9A-Za-z]{5,8}:[\w-]{43}(?![\w-])"), HIDDEN),
    # The API's tokens: forty hexadecimal digits and nothing else
    (re.compile(r"(?<![0-9a-f])[0-9a-f]{40}(?![0-9a-f])"), HIDDEN),
)

_SECRET_SETTINGS = ("PASSWORD", "SECRET", "TOKEN", "SECRET_KEY", "WEBHOOK_URL")
_EventDict = MutableMapping[str, Any]


def hide_by_name(logger: Any, method: str, event: _EventDict) -> _EventDict:
    """A structlog processor: fields whose name says that they are secret lose their value."""
    return {key: _hidden(key, value) for key, value in event.items()}


def _hidden(key: Any, value: Any) -> Any:
    if isinstance(key, str) and _BY_NAME.fullmatch(key) and value not in (None, "", True, False):
        return HIDDEN
    if isinstance(value, Mapping):
        return {name: _hidden(name, inner) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_hidden("", inner) for inner in value]
    return value


def hide_in_line(logger: Any, method: str, line: str) -> str:
    """The last structlog processor, after the renderer: the finished line without anything secret."""
    return hide(line)


def hide(text: str) -> str:
    """The text without anything secret."""
    for value in _values():
        if value in text:
            text = text.replace(value, HIDDEN)
    for pattern, instead in _FORMS:
        text = pattern.sub(instead, text)
    return text


def hide_in_sentence(text: str) -> str:
    """The same of a sentence, which stays one: what its parameters hold is looked at, and then the whole."""
    if not isinstance(text, Sentence):
        return hide(text)
    hidden = Sentence(text.code, {name: _hide_in(value) for name, value in text.params.items()})
    return hidden if hide(hidden) == hidden else hide(text)


def _hide_in(value: Param) -> Param:
    if isinstance(value, Listed):
        return Listed.of(map(_hide_in, value), value.more)
    return hide_in_sentence(value) if isinstance(value, str) else value


def _values() -> tuple[str, ...]:
    """The secrets of the settings; none while those are still being read."""
    from django.conf import settings

    return _known() if settings.configured else ()


@cache
def _known() -> tuple[str, ...]:
    """Longest first, so that one that contains another goes as a whole; each also as JSON and addresses write it."""
    from django.conf import settings

    plain = {value for value in _secrets(settings) if len(value) >= SHORTEST}
    written = {form for value in plain for form in _written(value)}
    return tuple(sorted(written, key=len, reverse=True))


def _written(value: str) -> Iterator[str]:
    yield from (value, quote(value), repr(value)[1:-1])
    yield from (json.dumps(value, ensure_ascii=ascii_only)[1:-1] for ascii_only in (True, False))


def _secrets(settings: Any) -> Iterator[str]:
    for name in dir(settings):
        value = getattr(settings, name, None)  # dir() also lists what tests have taken away
        if isinstance(value, str) and name.isupper():
            if name.endswith(_SECRET_SETTINGS):
                yield value
            if "://" in value:
                yield from _in_address(value)
    yield from (key for key in settings.SECRET_KEY_FALLBACKS if isinstance(key, str))
    for database in settings.DATABASES.values():
        yield str(database.get("PASSWORD") or "")


def _in_address(address: str) -> Iterator[str]:
    try:
        password = urlsplit(address).password
    except ValueError:
        return
    if password:
        yield password
        yield unquote(password)


def forget() -> None:
    """Look at the settings again at the next line (tests change them)."""
    _known.cache_clear()
