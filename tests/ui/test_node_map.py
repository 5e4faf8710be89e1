"""The map of a partition's nodes: what is drawn, what the address chooses, and the same as a table."""

from typing import Any

import pytest
from django.http import QueryDict
from django.test import Client
from django.utils import translation

from console.cluster.models import Job
from console.cluster.selectors import SeenNode
from console.overview.heldjobs import HeldJob, held_jobs
from console.overview.nodemap import (
    MOST_BLOCKS,
    Coming,
    Moves,
    NodeBar,
    moves_of,
    node_map,
)
from console.overview.nodeview import NodeView, read_nodes
from console.steering.models import Plan
from tests import factories
from tests.markup import flat
from tests.ui.conftest import House, part

NAMES = ("P0", "P1", "P2")


def node(name: str = "n1", **fields: Any) -> SeenNode:
    return SeenNode(
        **{
            "pk": 1,
            "name": name,
            "up": True,
            "state": "MIXED",
            "state_reason": "",
            "total": {"gpu": 8, "cpu": 64},
            "used": {},
            **fields,
        }
    )


def running(job_id: str, gpu: int, level: int | None, *nodes: str) -> HeldJob:
    alloc = {name: {"gpu": gpu, "cpu": 4} for name in nodes or ("n1",)}
    return HeldJob(job_id, "a", "ann", level, alloc)


def view(query: str, nodes: list[SeenNode], jobs: tuple[HeldJob, ...] = ()) -> NodeView:
    return read_nodes(QueryDict(query), nodes, lambda _names: jobs, NAMES)


# --- What is drawn ------------------------------------------------------------------------------------------


def test_jobs_that_hold_no_gpu_are_seen_on_a_node_that_has_some() -> None:
    """Their bar counts CPUs: of GPUs it would be empty, though nothing more starts there."""
    full = node(used={"cpu": 64})
    jobs = [
        HeldJob("1", "a", "ann", 0, {"n1": {"cpu": 48}}),
        HeldJob("2", "a", "bob", 1, {"n1": {"cpu": 16}}),
    ]

    [bar] = node_map([full], jobs, NAMES)
    assert [(block.job_id, block.w) for block in bar.segments] == [("1", "75%"), ("2", "25%")]
    assert (bar.resource, bar.free) == ("cpu", "8 gpu free, no cpu")
    assert {choice.value: choice.count for choice in view("", [full]).choices} == {
        "all": 1,
        "room": 0,
        "full": 1,
        "off": 0,
    }

    [bar] = node_map([full], [running("1", 1, 0), *jobs[1:]], NAMES)
    assert bar.resource == "gpu"
    assert node_map([node()], [], NAMES)[0].resource == "gpu"


def test_a_block_says_its_level_in_letters_where_they_fit() -> None:
    [bar] = node_map([node()], [running("1", 4, 0), running("2", 1, 1), running("3", 2, None)], NAMES)
    assert [(block.job_id, block.letters, block.middle) for block in bar.segments] == [
        ("1", "P0", "25%"),
        ("2", "", "56.25%"),
        ("3", "", "75%"),
    ]
    assert [block.label for block in bar.segments] == [
        "1 a ann (4 gpu), P0",
        "2 a ann (1 gpu), P1",
        "3 a ann (2 gpu)",
    ]


def test_a_job_has_a_block_on_each_of_its_nodes() -> None:
    bars = node_map([node("n1"), node("n2"), node("n3")], [running("1", 2, 0, "n1", "n3")], NAMES)
    assert [[block.job_id for block in bar.segments] for bar in bars] == [["1"], [], ["1"]]


def test_a_bar_shows_whatever_has_changed() -> None:
    def bar(moves: Moves | None = None, names: tuple[str, ...] = NAMES, **fields: Any) -> NodeBar:
        jobs = [running("2", 1, 1), running("1", fields.pop("gpu", 2), 0)]
        return node_map([node(**fields)], jobs, names, moves)[0]

    first = bar()
    assert bar(gpu=3).segments[0].w == "37.5%"
    assert bar(names=("A", "B")).segments[0].label == "1 a ann (2 gpu), A"
    assert bar(up=False, state="DOWN").free == "down"
    assert bar(used={"gpu": 8}).segments[-1].elsewhere
    assert bar(Moves(leaving={"1": "70"})).segments[0].leaving
    assert bar(Moves(takeable={"2"})).segments[1].takeable
    assert bar(Moves(coming={"n1": [Coming(7, "70", "zoe")]})).coming == [Coming(7, "70", "zoe")]
    with translation.override("zh-hans"):
        assert bar().free != first.free
    assert bar() == first


def test_jobs_too_many_to_be_told_apart_are_a_block_per_level() -> None:
    jobs = [running(str(i), 1, i % 2) for i in range(MOST_BLOCKS + 2)]
    [bar] = node_map([node(total={"gpu": 32})], jobs, NAMES)
    assert [(block.job_id, block.level, block.w) for block in bar.segments] == [
        ("", 0, "28.125%"),
        ("", 1, "28.125%"),
    ]
    assert bar.segments[0].label == "9 jobs (9 gpu), P0"
    [few] = node_map([node(total={"gpu": 32})], jobs[:MOST_BLOCKS], NAMES)
    assert len(few.segments) == MOST_BLOCKS


def test_who_leaves_and_who_comes_is_marked_once_a_plan_is_under_way() -> None:
    plan = Plan(
        pk=7,
        job_id="101",
        user="ann",
        state="executing",
        victims=[{"job": "2"}],
        placement={"n1": {"gpu": 4}},
    )
    jobs = [running("1", 4, 0), running("2", 4, 1)]
    [bar] = node_map([node()], jobs, NAMES, moves_of([plan]))
    assert [block.leaving for block in bar.segments] == [False, True]
    assert bar.segments[1].label == "2 a ann (4 gpu), P1, gives way to 101"
    assert bar.coming == [Coming(7, "101", "ann")]
    plan.state = "proposed"
    [bar] = node_map([node()], jobs, NAMES, moves_of([plan]))
    assert not any(block.leaving for block in bar.segments)
    assert bar.coming == []


# --- What the address chooses ---------------------------------------------------------------------------------

FEW = [
    node("n10", used={"gpu": 8}),
    node("n9", used={"gpu": 3}),
    node("c1", total={"cpu": 128}, used={"cpu": 128}),
    node("big", total={"gpu": 16, "cpu": 64}, used={"gpu": 1}),
    node("n2", up=False, state="DRAINED", used={}),
]


def names(found: NodeView) -> list[str]:
    return [bar.node.name for bar in found.bars]


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("", ["big", "n2", "n9", "n10", "c1"]),
        ("nodes=all", ["big", "n2", "n9", "n10", "c1"]),
        ("nodes=room", ["big", "n9"]),
        ("nodes=full", ["n10", "c1"]),
        ("nodes=off", ["n2"]),
        ("nodes=nonsense", ["big", "n2", "n9", "n10", "c1"]),
        ("n_page=99", ["big", "n2", "n9", "n10", "c1"]),
    ],
)
def test_the_address_says_which_nodes(query: str, expected: list[str]) -> None:
    found = view(query, FEW)
    assert names(found) == expected
    assert [(choice.value, choice.count) for choice in found.choices] == [
        ("all", 5),
        ("room", 2),
        ("full", 2),
        ("off", 1),
    ]
    assert sum(choice.chosen for choice in found.choices) == 1


def test_nodes_of_one_kind_stand_together_with_what_is_free_of_them() -> None:
    found = view("", FEW)
    assert [(kind.label, kind.count, kind.idle, kind.resource, kind.off) for kind in found.kinds] == [
        ("16 gpu, 64 cpu", 1, 15, "gpu", 0),
        ("8 gpu, 64 cpu", 3, 5, "gpu", 1),
        ("128 cpu", 1, 0, "cpu", 0),
    ]


def test_figures_of_a_kind_are_over_all_pages() -> None:
    found = view("n_page=2", [node(f"n{i}", used={"gpu": 7}) for i in range(130)])
    [kind] = found.kinds
    assert (len(kind.bars), kind.count, kind.idle) == (10, 130, 130)
    assert found.dense
    assert names(found)[0] == "n120", "numbers are ordered as numbers"


# --- The page -----------------------------------------------------------------------------------------------


def test_every_block_is_a_link_to_its_job_and_every_node_to_its_jobs(house: House, ada: Client) -> None:
    page = ada.get("/partitions/x/?q=&r_page=3").content.decode()

    n1 = house.cluster.nodes.get(name="n1")
    assert f'href="?q=&amp;node=n1#running-head" id="node-{n1.pk}"' in page
    n1.total = {"cpu": 8}
    n1.save()
    page = ada.get("/partitions/x/").content.decode()
    assert (
        '<a class="lv-1 leaving" href="/jobs/88/" aria-label="88 p1_train bob (4 cpu), P1, gives way to 101">'
        in page
    )
    assert "1 node · 4 cpu free" in flat(page.replace("</span>", ""))


def test_the_same_as_a_table_and_a_poll_keeps_it(house: House, ada: Client) -> None:
    text = ada.get("/partitions/x/?map=table&nodes=off", headers=part("partition-now")).content.decode()
    assert "data-map" not in text
    row = text[text.index("n2</a>") :].partition("</tr>")[0]
    assert "drained" in row
    assert "fan" in row
    assert "n1</a>" not in text.partition('id="waiting-head"')[0]
    assert '<input type="hidden" name="map" value="table">' in text
    assert '<input type="hidden" name="nodes" value="off">' in text
    table = ada.get("/partitions/x/?map=table").content.decode()
    assert "0 / 8 gpu" in table
    assert 'id="nodes-as-table" aria-current="true"' in flat(table)


def test_a_choice_without_nodes_says_so(house: House, ada: Client) -> None:
    assert "No node is like that now." in ada.get("/partitions/x/?nodes=full").content.decode()
    house.cluster.nodes.all().delete()
    assert "The cluster shows no node in this partition." in ada.get("/partitions/x/").content.decode()


def test_plans_under_way_show_their_steps_and_what_they_wait_for(house: House, ada: Client) -> None:
    page = ada.get("/partitions/x/").content.decode()
    steps = page[page.index(f'id="way-{house.plan.pk}"') :].partition("</section>")[0]
    assert steps.index("Send checkpoint signal") < steps.index("Stop and requeue, held")
    house.plan.state = "proposed"
    house.plan.save()
    assert 'id="way-' not in ada.get("/partitions/x/").content.decode()


def test_of_many_steps_those_still_to_be_done_are_shown(house: House, ada: Client) -> None:
    for i in range(12):
        done = factories.NOW if i < 6 else None
        factories.make_action(house.plan, job_id=str(500 + i), order=30 + i, verified_at=done)
    page = ada.get("/partitions/x/").content.decode()
    steps = page[page.index(f'id="way-{house.plan.pk}"') :].partition("</section>")[0]
    assert "511" in steps
    assert "500" not in steps
    assert "and 6 more steps" in steps


def test_only_jobs_on_the_wanted_nodes_are_read(house: House) -> None:
    factories.make_running_job(house.cluster, "90", alloc={"n11": {"cpu": 1}, "n2": {"cpu": 3}})
    factories.make_running_job(house.cluster, "91", alloc={"n11": {"cpu": 1}})
    rows = Job.objects.filter(phase="running")
    assert [job.job_id for job in held_jobs(rows, "user_level", ["n1"])] == ["88"]
    [both] = held_jobs(rows, "user_level", ["n2"])
    assert (both.job_id, both.user, both.alloc) == ("90", "ann", {"n11": {"cpu": 1}, "n2": {"cpu": 3}})


def test_names_of_jobs_stay_text_on_the_map(house: House, ada: Client) -> None:
    hostile = '<script>alert(1)</script>" onload="x'
    alloc = {"n3": {"cpu": 1}}
    factories.make_node(house.cluster, "n3", total={"cpu": 8}, used={"cpu": 1})
    factories.make_running_job(house.cluster, "90", name=hostile, alloc=alloc)
    page = ada.get("/partitions/x/").content.decode()
    assert "<script>alert" not in page
    assert '" onload="' not in page
    assert "&lt;script&gt;alert(1)" in page
