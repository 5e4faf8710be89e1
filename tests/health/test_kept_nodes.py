"""The doctor names reservations under our name that nobody here has asked for."""

import pytest

from console.health.doctor.slurm import check_kept
from scheduler.model.checkup import Checkup
from scheduler.model.observation import KeptNodes

KEPT = (KeptNodes("41", ("n1",), 1_700_000_060), KeptNodes("42_7", ("n2",), 1_700_000_060))


@pytest.mark.parametrize(
    ("asked", "code"),
    [
        ({"41", "42_7"}, "doctor.kept.asked"),
        ({"41"}, "doctor.kept.stranded.one"),
        (set(), "doctor.kept.stranded"),
    ],
)
def test_what_nobody_asked_for_is_named(asked: set[str], code: str) -> None:
    slurm = Checkup("root(0)", {}, words={"SLURM_VERSION": "22.05.8"}, kept=KEPT)
    (finding,) = check_kept(slurm, asked)
    assert finding.code == code
    for kept in KEPT:
        assert (kept.job_id in finding.what) == (kept.job_id not in asked)
