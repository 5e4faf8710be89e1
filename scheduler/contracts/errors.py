"""The one error of all codecs, and the JSON paths that it names."""

import json
import re

_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")
_LONGEST = 60


class InputError(Exception):
    """Something in an input is wrong: `path` is where (`$.jobs[3].alloc.n9`), `message` what, and the fix."""

    def __init__(self, path: str, message: str) -> None:
        super().__init__(path, message)
        self.path = path
        self.message = message

    def __str__(self) -> str:
        return f"{self.path}: {self.message}"


def join(path: str, key: str) -> str:
    """The path of a key inside the object at `path`."""
    return f"{path}.{key}" if _PLAIN.fullmatch(key) else f"{path}[{quoted(key)}]"


def quoted(value: object) -> str:
    """A value of the input inside a message: JSON on one line, not too long, nothing a terminal obeys."""
    text = json.dumps(value, default=repr)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"


def kind(value: object) -> str:
    """What JSON calls the type of a value."""
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case int() | float():
            return f"the number {quoted(value)}"
        case str():
            return f"the text {quoted(value)}"
        case list():
            return "a list"
        case dict():
            return "an object"
        case _:
            return f"a {type(value).__name__}"
