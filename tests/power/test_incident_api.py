"""Processors that stand out over the API, who is told of them, and what the doctor and the metrics say."""

from collections.abc import Callable

import pytest
from django.utils import timezone
from rest_framework.test import APIClient

from console.cluster.models import Node
from console.health.doctor.power import check_power
from console.health.metrics import text
from console.notices.collecting import collect
from console.notices.models import Notice, NoticeKind
from console.power.models import DrainState, NodeDrain, PowerIncident
from tests import factories
from tests.api.conftest import House, as_person, house, house_of_the_module

__all__ = ["as_person", "house", "house_of_the_module"]
AsPerson = Callable[[str], APIClient]
AT = "/api/v1/partitions/x/power/incidents/"


@pytest.fixture
def incident(house: House) -> PowerIncident:
    """On n1, opened just now."""
    return factories.make_power_incident(house.cluster, "n1", opened_at=timezone.now())


def test_it_tells_what_stands_out(incident: PowerIncident, as_person: AsPerson) -> None:
    (row,) = as_person("vera").get(AT).json()["results"]
    assert (row["node"], row["device"], row["share"], row["state"], row["drain"]) == (
        "n1",
        2,
        0.18,
        "open",
        None,
    )
    assert row["words"] == "n1, gpu 2, is 18 % slower than the middle of its 31 siblings."


def test_draining_putting_back_and_leaving(incident: PowerIncident, as_person: AsPerson) -> None:
    dave, at = as_person("dave"), f"{AT}{incident.pk}/"
    assert dave.post(f"{at}drain/", {"reason": "Slow"}, format="json").json()["drain"] == "asked"
    assert dave.post(f"{at}drain/", {"reason": "Slow"}, format="json").status_code == 200
    assert dave.post(f"{at}put-back/", {"reason": "Mended"}, format="json").json()["drain"] == "returning"
    answer = dave.post(f"{at}leave/", {"reason": "Known"}, format="json")
    assert (answer.json()["state"], answer.json()["left_by"]) == ("left", "dave")
    assert NodeDrain.objects.count() == 1


def test_nothing_is_done_without_a_reason_or_the_right(incident: PowerIncident, as_person: AsPerson) -> None:
    at = f"{AT}{incident.pk}/drain/"
    assert as_person("dave").post(at, {}, format="json").status_code == 400
    assert as_person("vera").post(at, {"reason": "Slow"}, format="json").status_code == 403
    Node.objects.filter(name="n1").update(partitions=["x", "y"])
    assert as_person("dave").post(at, {"reason": "Slow"}, format="json").status_code == 409
    assert (
        as_person("dave").post(f"{AT}{incident.pk}/put-back/", {"reason": "x"}, format="json").status_code
        == 409
    )
    Node.objects.filter(name="n1").update(partitions=["x"])
    assert (
        as_person("dave").post(f"{AT}{incident.pk}/put-back/", {"reason": "x"}, format="json").status_code
        == 400
    )
    assert not NodeDrain.objects.exists()


def test_who_looks_after_its_partition_is_told_once_and_again_when_it_is_worse(
    incident: PowerIncident,
) -> None:
    for _ in range(2):
        collect()
    (notice,) = Notice.objects.filter(kind=NoticeKind.POWER)
    assert (notice.user, notice.partition, notice.job_id) == ("dave", "x", "")
    assert "n1, gpu 2, is 18 % slower than the middle of its 31 siblings." in notice.text
    PowerIncident.objects.update(times=2)
    collect()
    assert Notice.objects.filter(kind=NoticeKind.POWER).count() == 2


def test_the_metrics_count_open_ones(incident: PowerIncident) -> None:
    assert (
        f'giveway_processors_standing_out{{cluster="{incident.cluster.name}",resource="gpu"}} 1.0'
        in text().decode()
    )


def test_the_doctor_tells_of_jumps_and_of_what_could_not_be_drained(incident: PowerIncident) -> None:
    PowerIncident.objects.update(kind="jumped")
    now = timezone.now()
    NodeDrain.objects.create(
        cluster=incident.cluster, node="n1", incident=incident, state=DrainState.FAILED, by="dave", reason="Slow",
        asked_at=now, changed_at=now, detail="Access/permission denied",
    )  # fmt: skip
    told = [each.what for each in check_power()]
    assert told == [
        "n1 could not be drained: Access/permission denied",
        "A measured figure has jumped. n1, gpu 2, has become 18 % slower: 11.8 s instead of 10 s.",
    ]
