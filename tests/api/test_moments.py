"""Moments in answers are UTC wherever the machine is, and moments that no database can hold are refused."""

from collections.abc import Iterator

import pytest
from django.test import Client
from django.utils import timezone
from rest_framework.test import APIClient

from console.accounts.models import User
from tests.api.conftest import House


@pytest.fixture(params=["Asia/Kolkata", "America/New_York", "UTC"])
def elsewhere(request: pytest.FixtureRequest) -> Iterator[str]:
    """A machine in another time zone."""
    with timezone.override(request.param):
        yield request.param


@pytest.mark.parametrize(
    ("path", "keys"),
    [
        ("/api/v1/audit/", ("at",)),
        ("/api/v1/projects/", ("updated_at",)),
        ("/api/v1/jobs/?job_id=101", ("submitted_at",)),
    ],
)
def test_moments_are_told_in_utc(
    house: House, ada: APIClient, elsewhere: str, path: str, keys: tuple[str, ...]
) -> None:
    """A machine in India told them with +05:30."""
    rows = ada.get(path).json()["results"]
    assert rows
    assert {row[key][-1] for row in rows for key in keys if row[key]} == {"Z"}


@pytest.mark.parametrize("moment", ["0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-12:00"])
@pytest.mark.parametrize(
    "path", ["/api/v1/audit/", "/api/v1/plans/", "/api/v1/incidents/", "/api/v1/jobs/101/history/"]
)
def test_a_moment_before_or_after_all_years_is_refused(
    house: House, ada: APIClient, path: str, moment: str
) -> None:
    """It was a defect, 500."""
    for name in ("since", "until"):
        answer = ada.get(path, {name: moment})
        assert (answer.status_code, list(answer.json()["error"]["fields"])) == (400, [name])


def test_pages_bear_such_moments_too(house: House, ada: APIClient, elsewhere: str) -> None:
    page = Client()
    page.force_login(User.objects.get(username="ada"))
    for moment in ("0001-01-01T00:00", "9999-12-31T23:59"):
        assert page.get("/audit/", {"since": moment, "until": moment}).status_code == 200
    assert page.get("/history/jobs/101/", {"until": "0001-01-01T00:00:00+14:00"}).status_code == 200
