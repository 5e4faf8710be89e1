"""From bytes to values, with the faults that a plain parser lets pass or reports without a place."""

import pytest

from scheduler.contracts.errors import InputError, join, kind, quoted
from scheduler.contracts.fields import entries, whole
from scheduler.contracts.jsontext import parse


def test_values_of_every_kind() -> None:
    assert parse(b'{"a": [1, -2, 0.5, "\xc3\xb6", true, false, null], "b": {}}') == {
        "a": [1, -2, 0.5, "ö", True, False, None],
        "b": {},
    }


def test_a_byte_order_mark_does_no_harm() -> None:
    assert parse(b"\xef\xbb\xbf[1]") == [1]


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "is not JSON"),
        (b"{", "at line 1, column 2"),
        (b'{"a": 1,\n "b": }', "at line 2, column 7"),
        (b"[1] [2]", "Extra data"),
        (b"\xff\xfe[1]", "is not UTF-8 (byte 0)"),
        (b'"abc\xc3"', "is not UTF-8 (byte 4)"),
        (b"[" * 100_000, "is nested too deeply"),
    ],
)
def test_what_is_no_json_is_said_in_one_line(data: bytes, message: str) -> None:
    with pytest.raises(InputError) as caught:
        parse(data)
    assert caught.value.path == "$"
    assert message in caught.value.message
    assert str(caught.value).isprintable()


def test_a_key_that_stands_twice_is_found_by_its_reader() -> None:
    value = parse(b'{"a": {"x": 1, "y": 2, "x": 3}}')
    assert isinstance(value, dict)
    with pytest.raises(InputError) as caught:
        entries(value["a"], "$.a")
    assert str(caught.value) == "$.a.x: stands twice; keep one"


def test_a_number_of_thousands_of_digits_is_only_too_large() -> None:
    value = parse(b'{"n": ' + b"9" * 10_000 + b"}")
    assert isinstance(value, dict)
    with pytest.raises(InputError, match="is too large"):
        whole(value["n"], "$.n")
    negative = parse(b"-" + b"9" * 10_000)
    with pytest.raises(InputError, match="must not be negative"):
        whole(negative, "$")


@pytest.mark.parametrize(
    ("key", "path"),
    [
        ("alloc", "$.alloc"),
        ("n-9", "$.n-9"),
        ("9n", '$["9n"]'),
        ("gpu:a100", '$["gpu:a100"]'),
        ('say "x"', '$["say \\"x\\""]'),
        ("two\nlines", '$["two\\nlines"]'),
        ("", '$[""]'),
    ],
)
def test_paths_are_readable_and_stay_on_one_line(key: str, path: str) -> None:
    assert join("$", key) == path


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (None, "null"),
        (True, "true"),
        (3, "the number 3"),
        (0.5, "the number 0.5"),
        ("a\tb", 'the text "a\\tb"'),
        ([], "a list"),
        ({}, "an object"),
        (b"", "a bytes"),
    ],
)
def test_kinds_of_values_in_words(value: object, words: str) -> None:
    assert kind(value) == words


def test_quoted_values_are_short() -> None:
    assert len(quoted("x" * 1000)) == 61
