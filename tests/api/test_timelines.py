"""A partition's timeline over the API, and the order of lists that have one."""

from datetime import timedelta

import pytest
from rest_framework.test import APIClient

from console.core import clock
from console.history.models import PartitionMinute, QuotaMinute
from tests.api.conftest import House


def test_the_timeline_is_what_the_page_draws(house: House, ada: APIClient) -> None:
    now = clock.now().replace(second=0, microsecond=0)
    for minute, waiting in ((1, 4), (2, 6)):
        PartitionMinute.objects.create(
            cluster=house.cluster,
            partition="x",
            at=now - timedelta(minutes=minute),
            axis="user",
            used={"cpu": 6},
            total={"cpu": 8},
            pending={"0": waiting, "none": 1},
            started={"0": [2, 60]},
            stops=1,
            work_lost={"cpu": 3600.0},
        )
    told = ada.get("/api/v1/partitions/x/timeline/?span=6h").json()
    assert (told["span"], told["step_s"], len(told["steps"]), told["resource"]) == ("6h", 300, 72, "cpu")
    seen = [step for step in told["steps"] if step["minutes"]]
    assert sum(step["minutes"] for step in seen) == 2
    assert sum(step["stops"] for step in seen) == 2
    assert {step["used"]["cpu"] for step in seen} == {6.0}
    ranks = {each["level"]["rank"] for step in seen for each in step["waiting"]}
    assert ranks == {0, None}
    jobs = [
        each["jobs"] * step["minutes"]
        for step in seen
        for each in step["waiting"]
        if each["level"]["rank"] == 0
    ]
    assert sum(jobs) == 10
    assert told["waits"] == [{"level": {"rank": 0, "name": "P0"}, "jobs": 4, "mean_s": 30.0}]
    assert sum(step["work_lost"]["cpu_hours"] for step in seen) == 2
    assert ada.get("/api/v1/partitions/x/timeline/?span=2y").status_code == 400


def test_quotas_over_time_are_what_the_page_draws(house: House, ada: APIClient) -> None:
    at = "/api/v1/partitions/x/quotas/timeline/"
    now = clock.now().replace(second=0, microsecond=0)
    for minute, used in ((1, 3), (2, 1)):
        QuotaMinute.objects.create(
            cluster=house.cluster,
            partition="x",
            at=now - timedelta(minutes=minute),
            rank=1,
            uses={
                "quotas": {"": [3, int(used == 3), {"ann": used}]},
                "quota_totals": {"gpu": [8, 0, {"": 2}]},
            },
        )
    told = ada.get(at, {"level": "P1", "span": "6h"}).json()
    assert (told["span"], told["step_s"], told["level"]) == ("6h", 300, {"rank": 1, "name": "P1"})
    jobs, gpus = told["limits"]
    assert (jobs["resource"], jobs["together"], jobs["limit"], len(jobs["steps"])) == ("jobs", False, 3, 72)
    assert jobs["users"] == [{"user": "ann", "used": 3, "limit": 3, "full_minutes": 1}]
    seen = [step for step in jobs["steps"] if step["minutes"]]
    assert sum(step["share"] * step["minutes"] for step in seen) == pytest.approx(4 / 3, abs=1e-3)
    assert sum(step["full_minutes"] for step in seen) == 1
    assert {"user": "ann", "used": 3, "limit": 3} in [step["peak"] for step in seen]
    assert (gpus["resource"], gpus["together"], gpus["users"]) == ("gpu", True, [])
    assert {"user": None, "used": 2, "limit": 8} in [step["peak"] for step in gpus["steps"]]

    assert ada.get(at).json()["level"]["name"] == "P0", "the highest with a quota"
    wrong = ada.get(at, {"level": "P9"})
    assert (wrong.status_code, "P0, P1" in str(wrong.json())) == (400, True)
    assert ada.get(at, {"span": "2y"}).status_code == 400


def test_lists_are_ordered_as_asked(house: House, ada: APIClient) -> None:
    def column(path: str, key: str) -> list[object]:
        return [row[key] for row in ada.get(f"/api/v1/{path}").json()["results"]]

    assert column("projects/?ordering=size", "code") == ["beta", "alpha"]
    assert column("projects/?ordering=-size", "code") == ["alpha", "beta"]
    assert column("partitions/?ordering=-name", "name") == ["y", "x"]
    assert column("partitions/?name=y", "name") == ["y"]
    rows = column("audit/?ordering=sequence", "sequence")
    assert rows == sorted(rows, key=lambda n: int(str(n))) != column("audit/", "sequence")
    assert column("plans/?ordering=id", "id") == [house.plan.pk]
    assert ada.get("/api/v1/projects/?ordering=nothing").status_code == 400
