"""What a template may not need: made when it first asks for it, and only then."""

from collections.abc import Callable
from functools import cache, partial
from typing import TypeVar

T = TypeVar("T")


def lazy(make: Callable[..., T], *args: object, **keywords: object) -> Callable[[], T]:
    """For a context: templates call what can be called, and what `{% cache %}` has kept asks for nothing."""
    return cache(partial(make, *args, **keywords))
