"""All nodes at a glance: what a square's shade and words say, and when the map is squares."""

import re
from typing import Any

import pytest
from django.test import Client

from console.cluster.models import Job
from console.core import clock
from console.power.models import Processor, Source
from console.reports.squares import COLOURS
from tests import factories
from tests.markup import flat
from tests.ui.conftest import House


@pytest.fixture
def wide(house: House) -> House:
    """Nodes in all the states that colours tell apart, and jobs on them."""
    house.cluster.nodes.all().delete()
    Job.objects.filter(cluster=house.cluster).delete()
    for number in range(1, 7):
        factories.make_node(
            house.cluster, f"w{number}", total={"gpu": 8, "cpu": 64}, used={"gpu": max(0, 10 - 2 * number)}
        )
    house.cluster.nodes.filter(name="w6").update(up=False, state="DRAINED")

    def job(job_id: str, **fields: Any) -> None:
        factories.make_running_job(house.cluster, job_id, **fields)

    job("1", alloc={"w1": {"gpu": 4}}, user_level=1, task_level=1)
    job("2", alloc={"w1": {"gpu": 4}, "w2": {"gpu": 6}}, user_level=0, task_level=0, immune="interactive")
    job("3", alloc={"w3": {"gpu": 4}}, user_level=None, task_level=None)
    job("4", alloc={"w4": {"gpu": 2}}, user_level=1, task_level=1)
    return house


def square(page: str, node: str) -> tuple[str, str]:
    """Its class and its words."""
    before, _, after = flat(page).partition(f'href="/nodes/{node}/"')
    css = before.rpartition('class="sq ')[2].partition('"')[0]
    return css, after.partition('title="')[2].partition('"')[0]


def seen(client: Client, by: str, *nodes: str) -> list[tuple[str, str]]:
    page = client.get(f"/partitions/x/?map=grid&by={by}").content.decode()
    return [square(page, node) for node in nodes]


def test_free_room_is_the_stronger_the_more_there_is(wide: House, ada: Client) -> None:
    assert seen(ada, "room", "w1", "w2", "w4", "w5") == [
        ("sq-0", "w1: 0 of 8 gpu free"),
        ("sq-1", "w2: 2 of 8 gpu free"),
        ("sq-3", "w4: 6 of 8 gpu free"),
        ("sq-4", "w5: 8 of 8 gpu free"),
    ]


def test_a_node_without_a_free_cpu_has_no_room_whatever_gpus_are_free(wide: House, ada: Client) -> None:
    wide.cluster.nodes.filter(name="w5").update(used={"cpu": 64})
    assert seen(ada, "room", "w5") == [("sq-0", "w5: 8 of 8 gpu free, no cpu")]


def test_a_node_that_takes_no_jobs_has_no_room_and_says_why(wide: House, ada: Client) -> None:
    assert seen(ada, "room", "w6") == [("sq-0 sq-off", "w6: drained, 0 of 8 gpu free")]


def test_the_highest_level_counts_whether_a_job_has_one_node_or_several(wide: House, ada: Client) -> None:
    assert seen(ada, "level", "w1", "w2", "w3", "w4", "w5") == [
        ("lv-0", "w1: highest level P0"),
        ("lv-0", "w2: highest level P0"),
        ("lv-none", "w3: unconfigured jobs only"),
        ("lv-1", "w4: highest level P1"),
        ("sq-none", "w5: no job"),
    ]


def test_immune_jobs_are_counted_by_what_they_hold_on_the_node(wide: House, ada: Client) -> None:
    assert seen(ada, "immune", "w1", "w2", "w3") == [
        ("sq-2", "w1: 4 of 8 gpu held by immune jobs"),
        ("sq-3", "w2: 6 of 8 gpu held by immune jobs"),
        ("sq-0", "w3: 0 of 8 gpu held by immune jobs"),
    ]


def test_power_is_that_of_the_slowest_processor_of_the_kind_that_counts(wide: House, ada: Client) -> None:
    for node, resource, device, figure in (
        ("w1", "gpu", 0, 10.0), ("w1", "gpu", 1, 12.0), ("w2", "gpu", 0, 10.0), ("w3", "cpu", 0, 99.0),
    ):  # fmt: skip
        Processor.objects.create(
            cluster=wide.cluster, node=node, resource=resource, device=device, figure=figure, readings=1,
            source=Source.TYPED, taken_at=clock.now(),
        )  # fmt: skip
    assert seen(ada, "power", "w1", "w2", "w3") == [
        ("sq-4", "w1: slowest processor 12 s"),
        ("sq-0", "w2: slowest processor 10 s"),
        ("sq-none", "w3: not measured"),
    ]


def test_the_next_end_is_the_first_of_the_jobs_there(wide: House, ada: Client) -> None:
    now = int(clock.now().timestamp())
    for job_id, left in (("1", 300), ("2", 5 * 3600), ("3", 48 * 3600), ("4", -60)):
        ends = dict.fromkeys(("end_low", "end_p50", "end_p80", "end_high"), now + left)
        factories.make_forecast(wide.cluster, job_id, start=now - 60, **ends)
    found = dict(
        zip(("w1", "w2", "w3", "w4", "w5"), seen(ada, "end", "w1", "w2", "w3", "w4", "w5"), strict=True)
    )
    assert {node: css for node, (css, _) in found.items()} == {
        "w1": "sq-4", "w2": "sq-2", "w3": "sq-0", "w4": "sq-4", "w5": "sq-none",
    }  # fmt: skip
    assert found["w5"][1] == "w5: no end predicted"
    assert found["w4"][1] == "w4: a job there should end in 0 s", "late: any moment"


def test_what_would_not_fit_one_page_of_bars_is_squares_and_all_of_them(house: House, ada: Client) -> None:
    for i in range(150):
        factories.make_node(house.cluster, f"big{i:03d}")
    page = flat(ada.get("/partitions/x/"))
    assert page.count('<a class="sq ') == 152
    assert 'id="nodes-as-grid" aria-current="true"' in page
    assert 'id="nodes-by-room" aria-current="true"' in page
    assert '<a class="sq ' not in flat(ada.get("/partitions/x/?n_page=2")), "who asks for a page gets bars"
    assert '<a class="sq ' not in flat(ada.get("/partitions/x/?nodes=off")), (
        "one page of bars is enough for these"
    )


def test_a_poll_keeps_the_squares_and_their_colour(wide: House, ada: Client) -> None:
    page = flat(ada.get("/partitions/x/?map=grid&by=level"))
    assert '<input type="hidden" name="map" value="grid">' in page
    assert '<input type="hidden" name="by" value="level">' in page
    assert 'id="nodes-by-level" aria-current="true"' in page


@pytest.mark.parametrize("by", ["", "nonsense", '"><script>'])
def test_a_colour_that_is_none_is_free_room(by: str, wide: House, ada: Client) -> None:
    page = flat(ada.get("/partitions/x/", {"map": "grid", "by": by}))
    assert 'id="nodes-by-room" aria-current="true"' in page


@pytest.mark.parametrize("by", list(COLOURS))
def test_names_of_nodes_are_text_in_every_colour(by: str, house: House, ada: Client) -> None:
    factories.make_node(house.cluster, 'n"><b>x')
    page = ada.get(f"/partitions/x/?map=grid&by={by}").content.decode()
    assert "<b>x" not in page
    assert 'href="/nodes/n%22%3E%3Cb%3Ex/"' in page


def groups(page: str) -> list[tuple[str, list[str]]]:
    """The units of the map with the nodes of each."""
    parts = flat(page).split('<div class="unit"><h4>')[1:]
    return [
        (part.partition("</h4>")[0], re.findall(r'href="/nodes/([^/]+)/"', part.partition("</div></div>")[0]))
        for part in parts
    ]


def test_nodes_of_one_unit_stand_together(wide: House, ada: Client) -> None:
    for name, unit in (("w1", "s10"), ("w2", "s2"), ("w4", "s10"), ("w5", "s2<b>")):
        wide.cluster.nodes.filter(name=name).update(unit=unit)
    page = ada.get("/partitions/x/?map=grid").content.decode()
    assert groups(page) == [
        ("s2", ["w2"]), ("s2&lt;b&gt;", ["w5"]), ("s10", ["w1", "w4"]), ("in no unit", ["w3", "w6"]),
    ]  # fmt: skip


def test_where_no_unit_is_known_nothing_is_said_of_units(wide: House, ada: Client) -> None:
    page = ada.get("/partitions/x/?map=grid").content.decode()
    assert groups(page) == [] and "in no unit" not in page


def test_a_partition_with_its_own_topology_has_its_own_units(wide: House, ada: Client) -> None:
    wide.cluster.nodes.update(unit="leaf", own_units={"x": "b1"})
    assert [name for name, _ in groups(ada.get("/partitions/x/?map=grid").content.decode())] == ["b1"]


def test_what_other_partitions_hold_is_not_called_no_job(wide: House, ada: Client) -> None:
    wide.cluster.nodes.filter(name="w5").update(used={"gpu": 3})
    assert seen(ada, "level", "w5") == [("sq-elsewhere", "w5: held elsewhere")]
    assert seen(ada, "end", "w5") == [("sq-elsewhere", "w5: held elsewhere")]
    assert seen(ada, "end", "w1") == [("sq-none", "w1: no end predicted")], "there are jobs of this partition"
