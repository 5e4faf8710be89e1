"""How good expected starts were: against the starts that came, and beside what Slurm expected."""

from datetime import timedelta

from console.core import clock
from console.starts.expecting import forget_old_starts
from console.starts.models import ExpectedStart
from console.starts.quality import StartQuality, start_quality
from tests import factories
from tests.ui.conftest import House, SignedIn


def over(house: House, number: int, off_s: int, slurm: int | None = None, **fields: object) -> ExpectedStart:
    """A job that started so many seconds after the middle of what was said, 30 minutes to 2 hours from then."""
    job = factories.make_job(house.cluster, f"90{number}")
    row = factories.make_expected_start(job, 3600, gone_at=clock.now())
    row.started = (row.first_p50 or 0) + off_s
    row.first_slurm = None if slurm is None else row.started + slurm
    for name, value in fields.items():
        setattr(row, name, value)
    row.save()
    return row


def test_nothing_where_nothing_has_started(house: House) -> None:
    factories.make_expected_start(factories.make_job(house.cluster, "900"))
    assert start_quality(house.cluster, ["x"]) == StartQuality()


def test_near_within_and_beside_slurm(house: House) -> None:
    for number, (off, slurm) in enumerate([(0, None), (-600, 7200), (601, 60), (7200, None)]):
        over(house, number, off, slurm)

    found = start_quality(house.cluster, ["x"]).total

    assert found is not None
    assert (found.jobs, found.near, found.within, found.error_s) == (4, 0.5, 0.75, 600)
    assert (found.slurm_jobs, found.slurm_near, found.slurm_error_s) == (2, 0.5, 3630)


def test_a_start_that_was_not_in_sight_is_far_off(house: House) -> None:
    over(house, 1, 0, first_p50=None, first_low=None, first_high=None)

    found = start_quality(house.cluster, ["x"]).total

    assert found is not None
    assert (found.near, found.within, found.error_s) == (0, 0, 60 * 86_400)


def test_only_of_partitions_that_one_sees_and_of_the_last_weeks(house: House) -> None:
    over(house, 1, 0)
    over(house, 2, 0, gone_at=clock.now() - timedelta(days=29))
    assert [name for name, _ in start_quality(house.cluster, ["x", "y"]).partitions] == ["x"]
    assert start_quality(house.cluster, ["y"]).total is None
    assert start_quality(house.cluster, ["x"]).total == start_quality(house.cluster, ["x"]).partitions[0][1]


def test_the_page_shows_it(house: House, signed_in: SignedIn) -> None:
    page = signed_in("ada").get("/forecasts/").content.decode()
    assert "No job with an expected start has started yet." in page
    over(house, 1, 60, slurm=7200)

    page = signed_in("ada").get("/forecasts/").content.decode()

    assert "Slurm, half off by less than" in page
    assert ">1 min<" in page.replace("\n", "")
    assert "2 h" in page


def test_it_is_forgotten_as_forecasts_are(house: House) -> None:
    old = over(house, 1, 0, gone_at=clock.now() - timedelta(days=366))
    over(house, 2, 0)
    factories.make_expected_start(factories.make_job(house.cluster, "950"))
    assert forget_old_starts() == 1
    assert not ExpectedStart.objects.filter(pk=old.pk).exists()
    assert ExpectedStart.objects.count() == 2
