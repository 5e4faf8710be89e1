"""Private, real Slurms for tests: of each release one per session, and per xdist worker.

`private_slurm` is the running cluster, `clean_slurm` the same without jobs and with every node idle;
`accounted_slurm` is another one, with a slurmdbd. It is of the release that is installed; a test marked
`every_release` that uses one runs on each that Giveway is tried with, and has the release in its name (`[24.11]`). A
test about an outage or another shape starts its own `PrivateSlurm` in `slurm_root`, of the release `slurm_release`.
Where Slurm cannot run, tests are skipped with the reason; with GIVEWAY_REQUIRE_SLURM=1 they fail instead.
GIVEWAY_REQUIRE_SLURM_RELEASES=1 is the same for releases that are not unpacked.
"""

import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from deploy.private_slurm import Accounting, PrivateSlurm, PrivateSlurmError, accounting, releases
from deploy.private_slurm.cluster import DEFAULT_USERS

EVERY = (releases.SYSTEM, *releases.SUITES)
"""The releases that a test marked `every_release` runs on."""


OPERATOR = "oper"
LIMITS = {
    "30, 2 a second": "rl_enable,rl_bucket_size=30,rl_refill_rate=2",
    "40, 4 a minute": "rl_enable,rl_bucket_size=40,rl_refill_rate=4,rl_refill_period=60",
}
"""SlurmctldParameters by how many requests an account may send at once, and how many come back; 22.05 has no limits."""


def new_root() -> Path:
    """Not pytest's tmp_path: ordinary users must be able to enter it."""
    root = Path(tempfile.mkdtemp(prefix="giveway-slurm-", dir="/tmp"))
    root.chmod(0o755)
    return root


def need_slurm(release: str = releases.SYSTEM) -> None:
    """Skips where there can be no Slurm, or not this release; fails instead where it is required."""
    _need("GIVEWAY_REQUIRE_SLURM", PrivateSlurm.unavailable_reason())
    _need("GIVEWAY_REQUIRE_SLURM_RELEASES", left_out(release))


def need_accounting(release: str = releases.SYSTEM) -> None:
    """The same of a slurmdbd for this release."""
    need_slurm(release)
    variable = "GIVEWAY_REQUIRE_SLURM" if release == releases.SYSTEM else "GIVEWAY_REQUIRE_SLURM_RELEASES"
    _need(variable, accounting.unavailable_reason(releases.named(release)))


def _need(variable: str, reason: str | None) -> None:
    if reason is None:
        return
    if os.environ.get(variable) == "1":
        pytest.fail(f"{variable}=1, but: {reason}")
    pytest.skip(reason)


def left_out(release: str) -> str | None:
    """Why this release cannot be tried here; None when it can."""
    try:
        releases.named(release)
    except PrivateSlurmError as error:
        return str(error)
    return None


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """A test marked `every_release` runs once on each that this run is for (`tests.plugins.nightly`)."""
    marker = metafunc.definition.get_closest_marker("every_release")
    if marker is not None and "slurm_release" in metafunc.fixturenames:
        on_all = metafunc.config.getoption("--all") or marker.kwargs.get("always", False)
        tried = EVERY if on_all else (releases.SYSTEM,)
        metafunc.parametrize("slurm_release", tried, indirect=True, scope="session")


def operated_slurm(root: Path, release: str, parameters: str = "", **more: Any) -> PrivateSlurm:
    """One that is to be started, with an account OPERATOR that has AdminLevel=Operator and is neither root nor
    SlurmUser, as the README advises for Giveway's. `parameters`: SlurmctldParameters, such as one of `LIMITS`."""
    need_accounting(release)
    options = {"SlurmctldParameters": parameters} if parameters else {}
    return PrivateSlurm(
        root, version=release, users=(*DEFAULT_USERS, OPERATOR), accounts=Accounting(operators=(OPERATOR,)),
        **{**more, "options": {**options, **more.get("options", {})}},
    )  # fmt: skip


@pytest.fixture
def need_releases() -> None:
    """Skips where other releases are not unpacked: their packages could not be had."""
    for release in EVERY:
        need_slurm(release)


@pytest.fixture(scope="session")
def slurm_release(request: pytest.FixtureRequest) -> str:
    """The release that this test runs on: the installed one, unless the test is marked `every_release`."""
    release: str = getattr(request, "param", releases.SYSTEM)
    need_slurm(release)
    return release


@pytest.fixture
def slurm_root(slurm_release: str) -> Iterator[Path]:
    """An empty folder for a private Slurm of the test's own, removed afterwards."""
    root = new_root()
    yield root
    shutil.rmtree(root, ignore_errors=True)


@pytest.fixture(scope="session")
def private_slurm_of() -> Iterator[Callable[[str], PrivateSlurm]]:
    """Four nodes of 8 CPUs and 8 GPUs, of a release; started when first asked for, and kept until the session ends."""
    running: dict[str, PrivateSlurm] = {}
    with ExitStack() as stack:

        def of(release: str) -> PrivateSlurm:
            if release not in running:
                slurm = PrivateSlurm(new_root(), version=release, remove_root=True)
                running[release] = stack.enter_context(slurm)
            return running[release]

        yield of


@pytest.fixture(scope="session")
def accounted_slurm_of() -> Iterator[Callable[[str], PrivateSlurm]]:
    """The same with a slurmdbd, which has one account for all users."""
    running: dict[str, PrivateSlurm] = {}
    with ExitStack() as stack:

        def of(release: str) -> PrivateSlurm:
            if release not in running:
                slurm = PrivateSlurm(new_root(), version=release, remove_root=True, accounts=Accounting())
                running[release] = stack.enter_context(slurm)
            return running[release]

        yield of


@pytest.fixture
def accounted_slurm(accounted_slurm_of: Callable[[str], PrivateSlurm], slurm_release: str) -> PrivateSlurm:
    """The session's Slurm with a slurmdbd, without jobs and with every node idle."""
    need_accounting(slurm_release)
    slurm = accounted_slurm_of(slurm_release)
    slurm.clear()
    return slurm


@pytest.fixture(scope="session")
def private_slurm(private_slurm_of: Callable[[str], PrivateSlurm], slurm_release: str) -> PrivateSlurm:
    """Four nodes of 8 CPUs and 8 GPUs; partitions x (n1), q (n3, n4), wide (all)."""
    return private_slurm_of(slurm_release)


@pytest.fixture
def clean_slurm(private_slurm: PrivateSlurm) -> PrivateSlurm:
    """The session's Slurm without jobs and reservations, every node idle, every partition up.

    Whoever comes next clears away what a test leaves: a dozen commands less for each test than clearing twice.
    """
    private_slurm.clear()
    return private_slurm
