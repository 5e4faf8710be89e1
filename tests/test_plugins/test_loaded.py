"""The garbage collector does not go through what was there before the first test, and goes on in the tests."""

import gc
import weakref


class Knot:
    """Refers to itself: nobody but the collector frees it."""

    def __init__(self) -> None:
        self.itself = self


def test_what_is_loaded_is_left_alone() -> None:
    assert gc.get_freeze_count() > 100_000, "Django alone has as many objects"
    assert not any(each is Knot for each in gc.get_objects())


def test_what_a_test_makes_is_freed() -> None:
    assert gc.isenabled()
    left = weakref.ref(Knot())
    gc.collect()
    assert left() is None
