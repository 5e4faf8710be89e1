"""How much of the quotas is used, over the API: everybody's for who may see the policy, else one's own."""

from collections.abc import Callable

from rest_framework.test import APIClient

from tests import factories
from tests.api.conftest import House

AT = "/api/v1/partitions/x/quotas/"


def test_who_sees_whose_use(house: House, as_person: Callable[[str], APIClient]) -> None:
    limits = {"quotas": {"P1": 4}, "quota_amounts": {"P0": {"gpu": 8}}, "quota_totals": {"P0": {"gpu": 8}}}
    house.x.revision = factories.make_revision(house.x, 2, **limits)
    house.x.save()
    for job_id, user, level in (("700", "ann", 0), ("701", "vera", 0), ("702", "bob", 1)):
        factories.make_running_job(
            house.cluster, job_id, user=user, task_level=level, alloc={"n1": {"cpu": 1, "gpu": 2}}
        )
    everybody = as_person("dave").get(AT, {"limit": 2}).json()
    assert (everybody["count"], everybody["next"] is not None) == (4, True)
    assert everybody["results"][0] == {
        "user": None, "level": "P0", "rank": 0, "resource": "gpu", "used": 4, "limit": 8, "full": False,
    }  # fmt: skip
    ofbob = as_person("dave").get(AT, {"user": "bob"}).json()["results"]
    assert [(row["resource"], row["used"], row["limit"]) for row in ofbob] == [("jobs", 1, 4)]
    own = as_person("vera").get(AT).json()["results"]
    assert [(row["user"], row["resource"], row["used"]) for row in own] == [
        (None, "gpu", 4),
        ("vera", "gpu", 2),
        ("vera", "jobs", 0),
    ]
    assert as_person("vera").get(AT, {"usr": "bob"}).status_code == 400
