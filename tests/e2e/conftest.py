"""Fixtures of the end-to-end tests."""

from collections.abc import Iterator

import pytest
from pytest_django import Settings

from console.cluster import connect
from deploy.private_slurm import PrivateSlurm
from tests.e2e.slurm_driver import Driver


@pytest.fixture
def driver(
    db: None, clean_slurm: PrivateSlurm, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Driver]:
    """A console attached to the private Slurm, with nothing running and nothing configured."""
    settings.GIVEWAY_CLUSTER = "slurm"
    for name, value in clean_slurm.env.items():
        monkeypatch.setenv(name, value)
    connect.forget_adapters()
    yield Driver(clean_slurm)
    connect.forget_adapters()
