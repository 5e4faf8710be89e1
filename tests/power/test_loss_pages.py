"""What was lost to waiting for the slowest processor, on the page and as a table."""

import pytest

from console.core import clock
from console.power.models import RunLoss
from tests.markup import words_of
from tests.ui.conftest import House, SignedIn, house, house_of_the_module, signed_in

__all__ = ["house", "house_of_the_module", "signed_in"]


@pytest.fixture
def lost(house: House) -> None:
    """Of alpha, beta and of no project."""
    for number, (project, hours) in enumerate((("alpha", 2.5), ("beta", 1.0), ("", 0.5))):
        RunLoss.objects.create(
            cluster=house.cluster, job_id=str(number), start=0, restarts=0, ended=int(clock.now().timestamp()),
            partition="x", project=project, user="ann", resource="gpu", processors=4, hours=10, lost=hours,
            slowest="n1",
        )  # fmt: skip


@pytest.mark.parametrize(
    ("role", "seen"),
    [
        ("pam", ["alpha"]),
        ("dave", ["alpha", "beta", ""]),
        ("otto", ["alpha", "beta", ""]),
        ("ada", ["alpha", "beta", ""]),
        ("vera", []),
    ],
)
def test_managers_see_their_own_and_who_reads_everything_all(
    role: str, seen: list[str], house: House, lost: None, signed_in: SignedIn
) -> None:
    browser = signed_in(role)
    lines = browser.get("/partitions/x/power/losses/").content.decode("utf-8-sig").splitlines()
    assert lines[0] == '"project","resource","runs","hours","lost","share"'
    assert [line.split(",")[0].strip('"') for line in lines[1:]] == seen
    page = words_of(browser.get("/partitions/x/power/").content.decode())
    assert ("Lost to waiting for the slowest" in page) is bool(seen)
    assert ("2.5" in page) is ("alpha" in seen)
