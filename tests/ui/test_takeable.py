"""The node map marks workers that may be taken: of elastic jobs that have more of them than their minimum."""

import re

import pytest
from django.test import Client

from console.overview.workers import takeable_jobs
from tests import factories
from tests.ui.conftest import House

ALLOC = {"n1": {"gpu": 1}}
ON_TWO = {"n1": {"gpu": 1}, "n2": {"gpu": 1}}

SHOWN = [str(number) for number in range(40, 60)]


def worker(house: House, job_id: str, words: str, **facts: object) -> None:
    facts = {"alloc": ALLOC, "on_node": "n1", **facts}
    factories.make_running_job(house.cluster, job_id, comment=words, **facts)


def policy(house: House, **changes: object) -> None:
    house.x.revision = factories.make_revision(house.x, 2, **changes)
    house.x.save()


@pytest.mark.parametrize(("least", "found"), [(2, {"41_0", "41_1", "41_2"}), (3, set())])
def test_the_tasks_of_an_array_above_its_minimum(house: House, least: int, found: set[str]) -> None:
    for task in range(3):
        worker(house, f"41_{task}", f"elastic:min={least}", group="41")

    assert takeable_jobs(house.x, SHOWN) == found


def test_a_job_on_several_nodes_by_itself(house: House) -> None:
    worker(house, "50", "elastic:min=1,how=restart", alloc=ON_TWO, on_node="")
    worker(house, "51", "elastic:min=2,how=restart", alloc=ON_TWO, on_node="")
    worker(house, "52", "elastic:min=1,how=tasks", alloc=ON_TWO, on_node="")
    worker(house, "53", "elastic:min=1")
    worker(house, "54", "", alloc=ON_TWO, on_node="")

    assert takeable_jobs(house.x, SHOWN) == {"50"}, "52 is alone, 53 on one node"


def test_a_task_type_says_it_where_the_comment_does_not(house: House) -> None:
    policy(house, task_types=[{"pattern": "dask_*", "elastic_min": 1}])
    for task in range(2):
        worker(house, f"41_{task}", "", group="41", name="dask_sum")
        worker(house, f"42_{task}", "", group="42", name="other")

    assert takeable_jobs(house.x, SHOWN) == {"41_0", "41_1"}


def test_nobody_where_the_policy_shrinks_nobody(house: House) -> None:
    policy(house, elastic=False)
    for task in range(3):
        worker(house, f"41_{task}", "elastic:min=1", group="41")

    assert takeable_jobs(house.x, SHOWN) == frozenset()


def test_the_map_marks_them_and_says_what_the_mark_means(house: House, ada: Client) -> None:
    worker(house, "41_0", "elastic:min=1", group="41")
    worker(house, "41_1", "elastic:min=1", group="41")

    page = ada.get("/partitions/x/").content.decode()

    assert len(re.findall(r'<a class="lv-\w+ takeable" href="/jobs/41_\d/"', page)) == 2
    assert '<span class="swatch takeable"></span>elastic: may give way first' in page
    assert re.search(r'aria-label="41_0 [^"]*, elastic: may give way first"', page)
