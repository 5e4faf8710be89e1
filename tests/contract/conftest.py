"""The fixture that runs every test of this folder on every adapter."""

from pathlib import Path

import pytest

from tests.contract import simulator_harness
from tests.contract.harness import Harness
from tests.plugins.private_slurm import EVERY, need_slurm

SLURMS = {f"slurm-{release}": release for release in EVERY}


@pytest.fixture(
    params=["simulator", "stored", *(pytest.param(name, marks=pytest.mark.slurm) for name in SLURMS)]
)
def harness(request: pytest.FixtureRequest, tmp_path: Path) -> Harness:
    """An empty cluster behind each adapter in turn; a real Slurm is emptied first."""
    if request.param == "simulator":
        return simulator_harness.in_memory()
    if request.param == "stored":
        return simulator_harness.in_file(tmp_path / "cluster.json")
    # Imported only here: the private Slurm is for machines that have one.
    from tests.contract.slurm_harness import SlurmHarness

    release = SLURMS[request.param]
    need_slurm(release)
    return SlurmHarness(request.getfixturevalue("private_slurm_of")(release))
