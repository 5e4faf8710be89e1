"""A private, real Slurm for tests: one per session, and per xdist worker.

`private_slurm` is the running cluster, `clean_slurm` the same without jobs and with every node idle. A test
about an outage or another shape starts its own `PrivateSlurm` in `slurm_root`. Where Slurm cannot run, tests
are skipped with the reason; with GIVEWAY_REQUIRE_SLURM=1 they fail instead.
"""

import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from deploy.private_slurm import PrivateSlurm, PrivateSlurmError, releases


def new_root() -> Path:
    """Not pytest's tmp_path: ordinary users must be able to enter it."""
    root = Path(tempfile.mkdtemp(prefix="giveway-slurm-", dir="/tmp"))
    root.chmod(0o755)
    return root


def need_slurm() -> None:
    """Skips where there can be no Slurm; fails instead where one is required."""
    reason = PrivateSlurm.unavailable_reason()
    if reason is None:
        return
    if os.environ.get("GIVEWAY_REQUIRE_SLURM") == "1":
        pytest.fail(f"GIVEWAY_REQUIRE_SLURM=1, but: {reason}")
    pytest.skip(reason)


def left_out() -> str | None:
    """Why other releases than the installed one cannot be tried here; None when they can."""
    for name in releases.SUITES:
        try:
            releases.named(name)
        except PrivateSlurmError as error:
            return str(error)
    return None


@pytest.fixture
def need_releases() -> None:
    """Skips where other releases are not unpacked: their packages could not be had."""
    need_slurm()
    if reason := left_out():
        pytest.skip(reason)


@pytest.fixture
def slurm_root() -> Iterator[Path]:
    """An empty folder for a private Slurm of the test's own, removed afterwards."""
    need_slurm()
    root = new_root()
    yield root
    shutil.rmtree(root, ignore_errors=True)


@pytest.fixture(scope="session")
def private_slurm() -> Iterator[PrivateSlurm]:
    """Four nodes of 8 CPUs and 8 GPUs; partitions x (n1), q (n3, n4), wide (all)."""
    need_slurm()
    with PrivateSlurm(new_root(), remove_root=True) as slurm:
        yield slurm


@pytest.fixture
def clean_slurm(private_slurm: PrivateSlurm) -> Iterator[PrivateSlurm]:
    """The session's Slurm without jobs and reservations, every node idle, every partition up."""
    private_slurm.clear()
    yield private_slurm
    private_slurm.clear()
