"""A quick look asks slurmctld for its jobs only, for a quarter of a minute."""

from collections.abc import Iterator
from unittest.mock import patch

import pytest

from deploy.private_slurm import PrivateSlurm
from scheduler.adapters.slurm.cluster import SlurmCluster
from scheduler.adapters.slurm.read import MACHINES_S
from scheduler.adapters.slurm.requests import METER

pytestmark = pytest.mark.slurm


@pytest.fixture
def cluster(clean_slurm: PrivateSlurm) -> Iterator[SlurmCluster]:
    with patch.dict("os.environ", clean_slurm.env):
        yield SlurmCluster()


def asked(cluster: SlurmCluster, *, quick: bool) -> int:
    METER.take()
    assert cluster.observe(quick=quick).nodes
    return sum(METER.take().requests.values())


def test_two_requests_instead_of_six(cluster: SlurmCluster) -> None:
    cluster.observe()
    assert asked(cluster, quick=False) == 6
    assert [asked(cluster, quick=True) for _ in range(3)] == [2, 2, 2]
    cluster._reader._seen_at -= MACHINES_S
    assert asked(cluster, quick=True) == 6
