"""Fixtures of the end-to-end tests."""

from collections.abc import Iterator

import pytest
from pytest_django import Settings

from deploy.private_slurm import PrivateSlurm
from tests.e2e.slurm_driver import Driver, attached


@pytest.fixture
def driver(
    db: None, clean_slurm: PrivateSlurm, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Driver]:
    """A console attached to the private Slurm, with nothing running and nothing configured."""
    with attached(clean_slurm, settings, monkeypatch) as driver:
        yield driver
