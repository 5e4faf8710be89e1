"""What people see of forecasts: on a job's page, and how good they were."""

from django.test import Client
from django.utils import timezone
from time_machine import TimeMachineFixture

from console.forecasts.models import AccountingRead
from tests import factories
from tests.markup import words_of
from tests.ui.conftest import House

HOUR = 3600


def test_a_waiting_job_says_how_long_it_will_run(house: House, ada: Client) -> None:
    factories.make_job(house.cluster, "700", user="ann")
    factories.make_forecast(house.cluster, "700")
    page = words_of(ada.get("/jobs/700/").content.decode())
    assert "Expected to run 1 h 90 % sure: 15 min to 4 h" in page
    assert "Expected to run" not in words_of(ada.get("/jobs/88/").content.decode())


def test_a_running_job_says_when_it_ends(house: House, ada: Client, time_machine: TimeMachineFixture) -> None:
    time_machine.move_to(timezone.now(), tick=False)
    now = int(timezone.now().timestamp())
    factories.make_running_job(house.cluster, "701", user="ann", task_level=0)
    ends = {"end_low": now + 605, "end_p50": now + 1805, "end_high": now + HOUR + 5}
    factories.make_forecast(house.cluster, "701", start=now - 60, **ends)
    page = words_of(ada.get("/jobs/701/").content.decode())
    assert "Expected end in 30 min 90 % sure: in 10 min to 1 h" in page


def test_an_expected_end_that_is_over_is_not_said_to_have_been(
    house: House, ada: Client, time_machine: TimeMachineFixture
) -> None:
    time_machine.move_to(timezone.now(), tick=False)
    now = int(timezone.now().timestamp())
    factories.make_running_job(house.cluster, "701", user="ann", task_level=0)
    ends = {"end_low": now - 60, "end_p50": now - 2, "end_high": now + HOUR + 5}
    factories.make_forecast(house.cluster, "701", start=now - 90, **ends)
    page = words_of(ada.get("/jobs/701/").content.decode())
    assert "Expected end at any moment 90 % sure: in 0 s to 1 h" in page


def test_without_an_ended_job_the_page_says_so(house: House, ada: Client) -> None:
    assert "No job with a forecast has ended yet." in words_of(ada.get("/forecasts/").content.decode())


def test_how_good_they_were(house: House, ada: Client) -> None:
    for n in range(12):
        factories.make_forecast(
            house.cluster, f"9{n}", ran_s=2 * HOUR, limit_s=8 * HOUR, ended_at=timezone.now()
        )
    page = words_of(ada.get("/forecasts/").content.decode())
    assert "Nearness 0.50" in page
    assert "The time limits that users set reach 0.25." in page
    assert "Hardest to forecast" in page


def test_accounting_that_cannot_be_read_is_told(house: House, ada: Client) -> None:
    """Without new ends all forecasts grow old, and nobody would know why."""
    AccountingRead.objects.create(cluster=house.cluster, until=0, fault="slurmdbd is away")
    page = words_of(ada.get("/forecasts/").content.decode())
    assert "Slurm's accounting could not be read: slurmdbd is away" in page.replace("&#x27;", "'")
