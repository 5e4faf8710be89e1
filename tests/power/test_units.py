"""Compute units where people see them: on the page of compute power, on a node's page, and on a job's."""

from typing import Any

import pytest

from console.cluster.models import Cluster, Node
from console.core import clock
from console.power.models import Processor, Source
from console.power.overview import power_of
from console.power.selectors import set_of
from tests import factories
from tests.markup import words_of
from tests.ui.conftest import House, SignedIn, house, house_of_the_module, signed_in

__all__ = ["house", "house_of_the_module", "signed_in"]


def measured(cluster: Cluster, **figures: list[float]) -> None:
    for node, each in figures.items():
        for device, figure in enumerate(each):
            Processor.objects.create(
                cluster=cluster, node=node, resource="gpu", device=device, figure=figure, readings=1,
                source=Source.TYPED, taken_at=clock.now(),
            )  # fmt: skip


@pytest.fixture
def wired(house: House) -> House:
    """a1 and a3 under leaf2, a2 under leaf10; b is of another kind, and under none."""
    house.cluster.nodes.all().delete()
    for name, unit, gpus in (("a1", "leaf2", 2), ("a2", "leaf10", 2), ("a3", "leaf2", 2), ("b", "", 1)):
        factories.make_node(house.cluster, name, total={"cpu": 8, "gpu": gpus, "mem": 64_000}, unit=unit)
    measured(house.cluster, a1=[10.0, 10.25], a2=[10.0, 10.1], a3=[11.0, 10.0], b=[40.0])
    return house


def test_nodes_of_one_unit_stand_together_with_its_spread(wired: House) -> None:
    shown = power_of(wired.x).nodes
    assert [(node.name, node.unit and node.unit.name) for node in shown] == [
        ("a1", "leaf2"), ("a3", "leaf2"), ("a2", "leaf10"), ("b", None),
    ]  # fmt: skip
    spreads = {
        node.unit.name: (node.unit.nodes, round(node.unit.spread or 0, 6)) for node in shown if node.unit
    }
    assert spreads == {"leaf2": (2, 10.0), "leaf10": (1, 1.0)}


def test_a_slow_kind_does_not_hide_what_differs_within_a_fast_one(wired: House) -> None:
    shades = {node.name: [each.shade for each in node.processors] for node in power_of(wired.x).nodes}
    assert shades == {"a1": [1, 2], "a3": [5, 1], "a2": [1, 1], "b": [1]}


def test_a_unit_of_two_kinds_compares_only_what_is_alike(wired: House) -> None:
    Node.objects.filter(name="b").update(unit="leaf10")
    [unit] = {node.unit for node in power_of(wired.x).nodes if node.name == "b"}
    assert unit is not None and (unit.nodes, round(unit.spread or 0, 6)) == (2, 1.0)


def test_where_nothing_of_a_unit_is_measured_it_has_no_spread(wired: House) -> None:
    Processor.objects.filter(node="a2").delete()
    assert [node.unit.spread for node in power_of(wired.x).nodes if node.unit and node.name == "a2"] == [None]


def test_the_page_says_it(wired: House, signed_in: SignedIn) -> None:
    page = words_of(signed_in("vera").get("/partitions/x/power/").content.decode())
    assert "leaf2 2 nodes · the slowest of a kind takes 10 % longer than the fastest" in page
    assert page.index("leaf10") < page.index("in no unit")


def test_without_units_the_page_says_nothing_of_them(wired: House, signed_in: SignedIn) -> None:
    Node.objects.update(unit="")
    page = words_of(signed_in("vera").get("/partitions/x/power/").content.decode())
    assert "in no unit" not in page and "leaf" not in page


@pytest.mark.parametrize(
    ("nodes", "units"),
    [(("a1", "a3"), ["leaf2"]), (("a1", "a2"), ["leaf10", "leaf2"]), (("a1", "b"), [])],
    ids=["one", "two", "not all"],
)
def test_a_jobs_set_says_in_which_unit_it_lies(
    wired: House, nodes: tuple[str, ...], units: list[str]
) -> None:
    held = {node: {"gpu": 1} for node in nodes}
    found = set_of(wired.cluster, "x", held)
    assert found is not None and list(found.units) == units


def test_it_is_the_unit_of_the_jobs_own_partition(wired: House) -> None:
    Node.objects.filter(name__in=("a1", "a3")).update(own_units={"y": "rack7"})
    found = set_of(wired.cluster, "y", {"a1": {"gpu": 1}, "a3": {"gpu": 1}})
    assert found is not None and list(found.units) == ["rack7"]


def test_the_jobs_page_says_it(wired: House, signed_in: SignedIn) -> None:
    def page(*nodes: str) -> str:
        held: dict[str, Any] = {node: {"gpu": 2} for node in nodes}
        job_id = str(500 + len("".join(nodes)) + int(nodes[-1][-1]))
        factories.make_running_job(wired.cluster, job_id, alloc=held)
        return words_of(signed_in("vera").get(f"/jobs/{job_id}/").content.decode())

    assert "all in unit leaf2" in page("a1", "a3")
    assert "in several units: leaf10, leaf2" in page("a1", "a2")


def test_a_nodes_page_names_its_unit(wired: House, signed_in: SignedIn) -> None:
    vera = signed_in("vera")
    assert "compute unit leaf2" in words_of(vera.get("/nodes/a1/").content.decode())
    assert "compute unit" not in words_of(vera.get("/nodes/b/").content.decode())
    Node.objects.filter(name="a1").update(own_units={"x": "rack<7>"})
    assert "compute unit rack&lt;7&gt;" in vera.get("/nodes/a1/").content.decode()
