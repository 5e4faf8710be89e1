"""The list of what only `make test-all` runs names what there is, and nothing is left out without it."""

from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any, cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.plugins.nightly import left_out, pytest_collection_modifyitems
from tests.test_project.repository import ROOT


@pytest.mark.parametrize("line", sorted(left_out()))
def test_a_line_names_a_test_that_there_is(line: str) -> None:
    file, _, name = line.partition("::")
    text = (ROOT / file).read_text(encoding="utf-8")
    *classes, test = name.partition("[")[0].split("::")
    assert all(f"class {each}" in text for each in classes) or "TestCase" in text
    assert not test or f"def {test}(" in text or test == "runTest"


@settings(max_examples=100)
@given(st.integers())
def some_property(number: int) -> None:
    assert number == number


def collected(*, with_all: bool, args: list[str], ids: list[str]) -> tuple[list[str], list[str], int]:
    """Which tests are left, which are said to be left out, and how many examples a property has."""
    some_property._hypothesis_internal_use_settings = settings(max_examples=100)  # type: ignore[attr-defined]
    gone: list[Any] = []
    hook = SimpleNamespace(pytest_deselected=lambda items: gone.extend(items))  # noqa: PLW0108 - it is called by name
    config = SimpleNamespace(getoption=lambda _: with_all, args=args, hook=hook)
    held = [cast("Any", _Item(each)) for each in ids]
    pytest_collection_modifyitems(cast("Any", config), held)
    found = some_property._hypothesis_internal_use_settings  # type: ignore[attr-defined]
    return [each.nodeid for each in held], [each.nodeid for each in gone], found.max_examples


@dataclass(eq=False)
class _Item:
    nodeid: str
    obj: Any = some_property


SLOW = next(each for each in sorted(left_out()) if "::" in each and "[" not in each)


def test_a_landing_leaves_out_what_is_listed_and_tries_a_quarter() -> None:
    ids = ["tests/a.py::test_quick", SLOW, f"{SLOW}[24.11]"]
    assert collected(with_all=False, args=["tests"], ids=ids) == (ids[:1], ids[1:], 25)
    assert collected(with_all=True, args=["tests"], ids=ids) == (ids, [], 100)
    assert collected(with_all=False, args=[SLOW], ids=ids[1:]) == (ids[1:], [], 25)
