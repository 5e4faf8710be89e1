"""Tasks that compute and do not end are in every queue but `steer`: an urgent job gets its room all the same."""

from pathlib import Path

import pytest

from scheduler.adapters.simulator.state import What
from tests.e2e.processes import ROOT
from tests.e2e.test_production_parts import typed
from tests.faults.house import ROLES, House, house

SETTINGS = "tests.faults.starving"
STARVED = ("celery", "forecasts", "studies")
pytestmark = [pytest.mark.e2e]


def computing(house: House) -> set[str]:
    """The queues whose worker has a task that computes."""
    return {path.stem for path in house.home.glob("*.computes")}


def an_urgent_job_runs(house: House, busy: set[str]) -> None:
    """While workers that serve these queues are busy, from first to last."""
    low = house.submit("low", "ann", 8)
    house.until(house.has(What.STARTED, low), "the low job starts")
    house.until(lambda: computing(house) >= busy, f"tasks compute in {busy}")
    urgent = house.submit("urgent", "cy", 8, run_time_s=2)
    house.until(house.has(What.STARTED, urgent), "the urgent job starts")
    house.until(house.has(What.STARTED, low, 2), "the low job runs again")
    assert not list(house.home.glob("*.done")), "they computed all the time"
    assert not house.deaths
    (house.home / "stop").touch()
    assert house.judge([low]) == ([], [], [])


def test_the_embedded_workers(tmp_path: Path) -> None:
    with house(tmp_path / "home") as built:
        built.env["DJANGO_SETTINGS_MODULE"] = SETTINGS
        built.start("embedded", "embedded")
        # One process does all of the background; what it begins with is chance.
        built.until(lambda: bool(computing(built)), "a task computes")
        an_urgent_job_runs(built, computing(built))


def test_a_task_that_does_not_end_is_ended_and_the_next_one_begins(tmp_path: Path) -> None:
    """Celery's own limits do not hold in a process that works its tasks off itself."""
    ROLES["background"] = ("manage.py", "worker", "--background")
    with house(tmp_path / "home") as built:
        built.env |= {"DJANGO_SETTINGS_MODULE": SETTINGS, "GIVEWAY_STARVE_S": "2"}
        built.start("background", "background")
        built.until(lambda: computing(built) == set(STARVED), "each queue has had its turn")
        assert not list(built.home.glob("*.done"))
        assert not built.deaths
        assert "TaskTooLongError" in (built.home / "background.log").read_text()


@pytest.mark.postgres
@pytest.mark.redis
def test_the_workers_of_the_readme(migrated_postgres_url: str, redis_url: str, tmp_path: Path) -> None:
    page = (ROOT / "README.md").read_text()
    with house(tmp_path / "home", DATABASE_URL=migrated_postgres_url, REDIS_URL=redis_url) as built:
        built.env["DJANGO_SETTINGS_MODULE"] = SETTINGS
        for number, command in enumerate([*typed(page, "worker"), *typed(page, "beat")]):
            ROLES[f"readme-{number}"] = command
            built.start(f"readme-{number}", f"readme-{number}")
        built.until(lambda: bool(computing(built) & {"celery", "forecasts"}), "a short task computes")
        an_urgent_job_runs(built, {"studies"})
