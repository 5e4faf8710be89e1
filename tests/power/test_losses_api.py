"""What was lost to waiting for the slowest processor, over the API."""

from collections.abc import Callable

import pytest
from rest_framework.test import APIClient

from console.core import clock
from console.power.models import RunLoss
from tests.api.conftest import House, as_person, house, house_of_the_module

__all__ = ["as_person", "house", "house_of_the_module"]


@pytest.mark.parametrize(("role", "seen"), [("pam", ["alpha"]), ("otto", ["alpha", "beta"]), ("vera", [])])
def test_managers_see_their_own_and_auditors_all(
    role: str, seen: list[str], house: House, as_person: Callable[[str], APIClient]
) -> None:
    for number, project in enumerate(("alpha", "beta")):
        RunLoss.objects.create(
            cluster=house.cluster, job_id=str(number), start=0, restarts=0, ended=int(clock.now().timestamp()),
            partition="x", project=project, user="ann", resource="gpu", processors=4, hours=10, lost=2.5 - number,
            slowest="n1",
        )  # fmt: skip
    rows = as_person(role).get("/api/v1/partitions/x/power/losses/").json()["results"]
    assert [row["project"] for row in rows] == seen
    if seen:
        assert rows[0] == {
            "project": "alpha",
            "resource": "gpu",
            "runs": 1,
            "hours": 10,
            "lost": 2.5,
            "share": 0.25,
        }
