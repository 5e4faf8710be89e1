"""Recordings have what scontrol says of each job alone, not of all together."""

import pytest

from scheduler.adapters.slurm import queue


@pytest.fixture(autouse=True)
def one_by_one(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Jobs are asked about alone; on a real Slurm as they are in earnest."""
    if request.node.get_closest_marker("slurm") is None:
        monkeypatch.setattr(queue, "FEW", 0)
