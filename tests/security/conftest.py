"""The small house of the pages' tests, attacked."""

import pytest
from django.core.cache import cache

from tests.ui import conftest as ui

house_of_the_module = ui.house_of_the_module
house = ui.house
signed_in = ui.signed_in
ada = ui.ada


@pytest.fixture(autouse=True)
def _forget_throttles() -> None:
    """Tries at passwords are counted in the cache, which outlives a test."""
    cache.clear()
