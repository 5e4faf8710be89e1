"""From the bytes of a file to JSON values, with the faults that Python's parser lets pass."""

import json

from scheduler.contracts.errors import InputError

_DIGITS = 30
TOO_LARGE = 10**_DIGITS


class Doubled(dict[str, object]):
    """An object in which a key stands twice; whoever reads it as an object says so, with the path."""

    def __init__(self, values: dict[str, object], key: str) -> None:
        super().__init__(values)
        self.key = key


def parse(data: bytes) -> object:
    """The value of a JSON text in UTF-8 (with or without a byte order mark). Raises `InputError`."""
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError("$", f"is not UTF-8 (byte {error.start}); save the file as UTF-8") from None
    try:
        return json.loads(text, object_pairs_hook=_object, parse_int=_integer)
    except json.JSONDecodeError as error:
        where = f"line {error.lineno}, column {error.colno}"
        raise InputError("$", f"is not JSON: {error.msg} at {where}") from None
    except RecursionError:
        raise InputError("$", "is nested too deeply") from None


def _object(pairs: list[tuple[str, object]]) -> dict[str, object]:
    values: dict[str, object] = {}
    doubled = ""
    for key, value in pairs:
        doubled = doubled or (key if key in values else "")
        values[key] = value
    return Doubled(values, doubled) if len(values) < len(pairs) else values


def _integer(digits: str) -> int:
    # Python refuses to read integers of thousands of digits with an error that has no place in the file:
    # any number above every limit does instead, and its reader names the path.
    return int(digits) if len(digits) <= _DIGITS else -TOO_LARGE if digits.startswith("-") else TOO_LARGE
