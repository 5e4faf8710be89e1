"""A partition's squares over the API: each node with its unit and one fact about it."""

from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from rest_framework.test import APIClient

from console.cluster.models import Job, Node
from console.core import clock
from console.power.models import Processor, Source
from console.reports.squares import COLOURS
from tests import factories
from tests.api.conftest import House
from tests.factories import EPOCH, NOW

AT = "/api/v1/partitions/x/squares/"


@pytest.fixture(autouse=True)
def _noon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clock, "now", lambda: NOW)


@pytest.fixture
def shared(house: House) -> House:
    """Four nodes under two switches: with jobs of this partition, of another one, of none."""
    house.cluster.nodes.all().delete()
    Job.objects.filter(cluster=house.cluster).delete()
    for name, unit, used in (("n1", "s1", 8), ("n2", "s2", 4), ("n10", "s1", 0), ("n3", "", 0)):
        factories.make_node(house.cluster, name, total={"gpu": 8, "cpu": 64}, used={"gpu": used}, unit=unit)
    factories.make_running_job(
        house.cluster, "1", alloc={"n1": {"gpu": 8}}, user_level=0, task_level=0, on_node="n1"
    )
    return house


def told(client: APIClient, by: str = "") -> dict[str, Any]:
    answer = client.get(AT, {"by": by} if by else {})
    assert answer.status_code == 200, answer.content
    return dict(answer.json())


def facts(answer: dict[str, Any], *keys: str) -> list[tuple[Any, ...]]:
    return [tuple(node[key] for key in keys) for node in answer["nodes"]]


def test_nodes_come_by_name_with_unit_kind_and_what_is_free(shared: House, ada: APIClient) -> None:
    answer = told(ada)
    assert (answer["schema"], answer["partition"], answer["by"]) == ("giveway.squares/1", "x", "room")
    assert (answer["now"], answer["observed"]) == (EPOCH, EPOCH)
    assert facts(answer, "name", "unit", "shade", "value") == [
        ("n1", "s1", "0", 0), ("n2", "s2", "2", 4), ("n3", "", "4", 8), ("n10", "s1", "4", 8),
    ]  # fmt: skip
    assert answer["nodes"][1] == {
        "name": "n2", "up": True, "state": "IDLE", "kind": "8 gpu, 64 cpu", "unit": "s2", "shade": "2", "value": 4.0,
        "words": "4 of 8 gpu free",
    }  # fmt: skip
    assert answer["legend"][0] == {"shade": "0", "words": "full"}


def test_what_other_partitions_hold_is_held_elsewhere(shared: House, ada: APIClient) -> None:
    answer = told(ada, "level")
    assert facts(answer, "name", "shade", "value", "words") == [
        ("n1", "level", 0, "highest level P0"),
        ("n2", "elsewhere", None, "held elsewhere"),
        ("n3", "none", None, "no job"),
        ("n10", "none", None, "no job"),
    ]
    assert {"shade": "elsewhere", "words": "held elsewhere"} in answer["legend"]
    assert facts(told(ada, "end"), "name", "shade")[:3] == [
        ("n1", "none"),
        ("n2", "elsewhere"),
        ("n3", "none"),
    ]


def test_power_is_shaded_within_a_kind_of_node(shared: House, ada: APIClient) -> None:
    """By the whole partition n1 and n2 would look the same beside n10."""
    Node.objects.filter(name="n10").update(total={"gpu": 4, "cpu": 64})
    for node, figure in (("n1", 10.0), ("n2", 11.0), ("n10", 90.0)):
        Processor.objects.create(
            cluster=shared.cluster, node=node, resource="gpu", device=0, figure=figure, readings=1,
            source=Source.TYPED, taken_at=NOW,
        )  # fmt: skip
    assert facts(told(ada, "power"), "name", "shade", "value") == [
        ("n1", "0", 10), ("n2", "4", 11), ("n3", "none", None), ("n10", "0", 90),
    ]  # fmt: skip


def test_a_partition_with_its_own_topology_has_its_own_units(shared: House, ada: APIClient) -> None:
    Node.objects.filter(name="n1").update(own_units={"x": "b1"})
    Node.objects.filter(name="n2").update(own_units={"x": ""})
    assert facts(told(ada), "name", "unit")[:2] == [("n1", "b1"), ("n2", "")]


def test_a_node_that_takes_no_jobs_says_so(shared: House, ada: APIClient) -> None:
    Node.objects.filter(name="n3").update(up=False, state="DRAINED")
    assert facts(told(ada), "name", "up", "words")[2] == ("n3", False, "drained, 0 of 8 gpu free")


def test_what_it_is_not_shaded_by_is_refused(shared: House, ada: APIClient) -> None:
    answer = ada.get(AT, {"by": "luck"})
    assert answer.status_code == 400
    assert "room, level, immune, power, end" in str(answer.json())
    assert ada.get(AT, {"colour": "room"}).status_code == 400


@pytest.mark.parametrize("by", list(COLOURS))
def test_the_number_of_queries_does_not_grow(by: str, shared: House, ada: APIClient) -> None:
    def queries() -> int:
        with CaptureQueriesContext(
            connection,
        ) as seen:
            told(ada, by)
        return len(seen)

    told(ada, by)
    before = queries()
    for number in range(20, 60):
        factories.make_node(shared.cluster, f"n{number}", unit=f"s{number % 7}")
        factories.make_running_job(shared.cluster, str(number), alloc={f"n{number}": {"gpu": 1}})
    assert queries() == before


def test_nodes_can_be_asked_for_by_unit(shared: House, ada: APIClient) -> None:
    found = ada.get("/api/v1/nodes/", {"unit": "s1"}).json()["results"]
    assert [(node["name"], node["unit"], node["own_units"]) for node in found] == [
        ("n1", "s1", {}), ("n10", "s1", {}),
    ]  # fmt: skip
