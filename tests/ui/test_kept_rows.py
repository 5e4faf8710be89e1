"""Rows, squares and nodes are remembered by what they are made of: nobody sees what was made for something else."""

from datetime import UTC, timedelta, timezone
from typing import Any

import pytest
from django.core.cache import caches
from django.http import QueryDict
from django.test import Client
from django.utils import timezone as zones

from console.cluster.models import Job, Node
from console.cluster.selectors import SeenNode, seen_nodes
from console.overview import job_lists, nodemap
from console.overview.job_columns import JOB_COLUMNS, SENTENCES, ListedJob, listed
from console.overview.templatetags.job_table import job_rows
from console.steering.models import Plan
from scheduler.model.sentence import say
from tests import factories
from tests.ui.conftest import House

EVERY_COLUMN = "&".join(f"{kind}_col={column}" for kind in ("w", "r") for column in JOB_COLUMNS)


def rows(client: Client, query: str = EVERY_COLUMN, **headers: str) -> str:
    page = client.get(f"/partitions/x/?{query}", headers=headers).content.decode()
    return page[page.index('id="waiting-head"') : page.index('id="plans-head"')]


CHANGES: dict[str, tuple[Any, str]] = {
    "name": ("quite_new", "quite_new"),
    "user": ("zoe", "zoe"),
    "account": ("acc9", "acc9"),
    "project": ("newproject", "newproject"),
    "slurm_reason": ("Dependency7", "Dependency7"),
    "held": (True, "held"),
    "time_limit_s": (7260, "2 h 1 min"),
    "resources": ("3 × zpu", "3 × zpu"),
    "user_level": (1, "lv-1"),
    "user_level_name": ("Q1", "Q1"),
    "task_level_name": ("Q2", "Q2"),
    "preemptions": (77, ">77<"),
    "reason": ("no_gain", "quiet"),
    "explain": ("because of the moon", "because of the moon"),
    "place": (4321, ">4321<"),
    "user_origin": ("a rule of old", "a rule of old"),
    "task_origin": ("a rule of today", "a rule of today"),
}
BESIDE = {"user_level_name": {"user_level": 1}, "task_level_name": {"task_level": 1}}


@pytest.mark.parametrize("field", CHANGES)
def test_a_change_of_anything_that_is_shown_is_shown(house: House, ada: Client, field: str) -> None:
    value, shown = CHANGES[field]
    job = factories.make_job(house.cluster, "555", explain="", user_level=0, task_level=0)
    Job.objects.filter(pk=job.pk).update(**BESIDE.get(field, {}))
    before = of_job(rows(ada), "555")
    Job.objects.filter(pk=job.pk).update(**{field: value})
    after = of_job(rows(ada), "555")
    assert before.count(shown) < after.count(shown)
    Job.objects.filter(pk=job.pk).update(**{field: getattr(job, field), **BESIDE.get(field, {})})
    assert without_ages(of_job(rows(ada), "555")) == without_ages(before)


def of_job(shown: str, job_id: str) -> str:
    begin = shown.index(f'data-row="w-{job_id}-x"')
    return shown[begin : shown.index("</tr>", begin)]


def without_ages(row: str) -> str:
    return "".join(part.partition("</time>")[2] or part for part in row.split("<time"))


def test_a_plan_that_changes_its_part_changes_the_row(house: House, ada: Client) -> None:
    factories.make_job(house.cluster, "555", plan=house.plan.pk)
    assert "gave way" in of_job(rows(ada), "555"), "a plan that stops it is carried out"
    Plan.objects.filter(pk=house.plan.pk).update(job_id="555", state="proposed", enforcement="approve")
    assert "waits for approval" in of_job(rows(ada), "555")


def test_languages_do_not_share_rows(house: House, ada: Client) -> None:
    factories.make_job(house.cluster, "555", explain="", held=True)
    english, chinese = rows(ada), rows(ada, **{"accept-language": "zh-hans"})
    assert "</svg> held" in of_job(english, "555")
    assert "held" not in of_job(chinese, "555")
    assert without_ages(rows(ada)) == without_ages(english)


def test_zones_do_not_share_rows(house: House) -> None:
    job = factories.make_job(house.cluster, "555", waits_since=factories.EPOCH)
    read = {"request": None}
    told = job_lists.fixed_list(job_lists.MY_WAITING, [job], QueryDict(""))
    with zones.override(UTC):
        here = job_rows(read, told, {})
    with zones.override(timezone(timedelta(hours=8), "UTC+8")):
        there = job_rows(read, told, {})
    assert "UTC+8" in there and "UTC+8" not in here


def test_a_row_is_told_apart_by_the_data_of_its_sentences(house: House) -> None:
    """Words of somebody are not a sentence of ours, though they may read the same in English."""
    ours, theirs = say("told", english="so"), "so"
    one = factories.make_job(house.cluster, "1", explain=ours)
    other = factories.make_job(house.cluster, "1", partition="y", explain=theirs)
    assert listed(one).explain != listed(other).explain
    for job in (one, other):
        fresh = Job.objects.get(pk=job.pk)
        [read] = job_lists.read_list(QueryDict(""), job_lists.EVERY, Job.objects.filter(pk=job.pk)).page
        assert read == listed(fresh)
        assert {type(read.sentence(field)) for field in SENTENCES} == {
            type(getattr(fresh, field)) for field in SENTENCES
        }
    assert set(ListedJob._fields) <= {field.name for field in Job._meta.fields} | {"pk", "cluster_id"}


def node_n1(house: House) -> SeenNode:
    [node] = [node for node in seen_nodes(house.cluster) if node.name == "n1"]
    return node


def test_nodes_that_have_changed_are_read_anew(house: House, ada: Client) -> None:
    for field, value in (("used", {"gpu": 5}), ("up", False), ("state", "DRAINED"), ("unit", "u7")):
        Node.objects.filter(cluster=house.cluster, name="n1").update(**{field: value})
        assert getattr(node_n1(house), field) == value
    other = factories.make_cluster(name="other")
    factories.make_node(other, "n1")
    [theirs] = seen_nodes(other)
    assert theirs.up is True and theirs.state == "IDLE"


def test_squares_say_what_is_so_now(house: House, ada: Client) -> None:
    page = ada.get("/partitions/x/?map=grid").content.decode()
    Node.objects.filter(cluster=house.cluster, name="n1").update(used={"gpu": 7}, total={"gpu": 9})
    after = ada.get("/partitions/x/?map=grid").content.decode()
    assert 'title="n1: 2 of 9 gpu free"' in after and 'title="n1: 2 of 9 gpu free"' not in page
    chinese = ada.get("/partitions/x/?map=grid", headers={"accept-language": "zh-hans"}).content.decode()
    assert "2 of 9 gpu free" not in chinese


def test_bars_of_nodes_are_drawn_anew_when_anything_on_them_changes(
    house: House, ada: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(nodemap, "DENSE_ABOVE", 0)
    factories.make_node(house.cluster, "w1", used={"gpu": 1})
    job = factories.make_running_job(
        house.cluster, "555", alloc={"w1": {"gpu": 1}}, on_node="w1", user_level=0
    )

    def bar(query: str = "", **headers: str) -> str:
        caches["template_fragments"].clear()
        page = ada.get(f"/partitions/x/?map=bars&{query}", headers=headers).content.decode()
        return page[page.index('<div class="map') : page.index('class="map-told"')]

    first = bar()
    assert bar() == first and "555" in first
    assert "q=ann" in bar("q=ann"), "the same bar leads elsewhere from another address"
    for row, changed in (
        (Job.objects.filter(pk=job.pk), {"name": "renamed"}),
        (Job.objects.filter(pk=job.pk), {"user_level": 1}),
        (Node.objects.filter(name="w1"), {"used": {"gpu": 3}}),
        (Node.objects.filter(name="w1"), {"up": False, "state": "DOWN", "state_reason": "fan"}),
        (Node.objects.filter(name="w1"), {"state_reason": "power"}),
    ):
        before = bar()
        row.update(**changed)
        assert bar() != before, changed
    assert bar(**{"Accept-Language": "zh-hans"}) != bar()
