"""Goes with its last callers, which are all in `console/steering`."""

from collections.abc import Callable
from datetime import datetime
from typing import Any, TypeVar

from django.db.models import QuerySet

Row = TypeVar("Row")
AskedMoment = datetime


def rows(build: Callable[..., QuerySet[Any, Row]], *key: Any, **moments: datetime) -> list[Row]:
    """The rows of `build(*key, **moments)`."""
    return list(build(*key, **moments))
