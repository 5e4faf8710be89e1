"""Patterns against names: the same answers as the standard library's, without its time."""

import time
from fnmatch import fnmatchcase

from hypothesis import example, given
from hypothesis import strategies as st

from scheduler.priority.globs import Globs, globs

LETTERS = st.text(alphabet="ab-]!\n", max_size=8)
PATTERNS = st.lists(st.text(alphabet="ab*?[]!-c\n", max_size=8), max_size=6)


@given(PATTERNS, LETTERS)
@example(["[b-a]", "[!b-a]", "[]]", "[!]]", "[", "[!", "[a", "*[", "a[]b"], "]")
@example(["*", "**", "?*", "*?*"], "")
def test_fits_what_the_standard_library_says_in_the_order_of_the_list(patterns: list[str], name: str) -> None:
    wanted = tuple(i for i, pattern in enumerate(patterns) if fnmatchcase(name, pattern))
    ready = Globs(tuple(patterns))
    assert ready.fitting(name) == wanted
    assert ready.fitting(name) == wanted  # remembered
    assert ready.first(name) == (wanted[0] if wanted else None)


def test_the_same_list_is_made_ready_once() -> None:
    assert globs(("a*", "b?")) is globs(("a*", "b?"))


def test_stars_cost_no_more_than_the_letters_of_the_name() -> None:
    """Many stars against a long name that nearly fits: what backtracks never comes back from it."""
    ready = Globs(tuple("*a" * stars + "*b" for stars in range(1, 60)))
    assert ready.fitting("a" * 2000) == ()
    assert len(ready.fitting("a" * 2000 + "b")) == 59


def test_ten_times_the_patterns_do_not_cost_ten_times_the_time() -> None:
    """20,000 patterns of stars made one cycle take 27 s: each name was held against each of them."""
    names = [f"train_{i}_run" for i in range(2000)]

    def seconds(count: int) -> float:
        ready = Globs(tuple(f"*x{i}*y" for i in range(count)))
        begin = time.perf_counter()
        for name in names:
            assert ready.fitting(name) == ()
        return time.perf_counter() - begin

    few, many = min(seconds(200) for _ in range(3)), min(seconds(2000) for _ in range(3))
    assert many < 6 * few
