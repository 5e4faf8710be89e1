"""An array, or jobs that belong together, are one row of a list, which unfolds into them."""

import re
from urllib.parse import parse_qs

import pytest
from django.test import Client

from console.accounts.services import set_language
from console.cluster.models import Job
from console.overview.job_lists import MOST_TASKS
from tests import factories
from tests.ui.conftest import House, SignedIn, part

TRAIN = "t7@cy/alpha"


@pytest.fixture
def jobs(house: House) -> House:
    """An array of twelve tasks, a group of two jobs, one job of a group, and one that stands alone."""
    Job.objects.all().delete()
    for number in range(4):
        factories.make_job(
            house.cluster, f"41_{number}", group="41", user="cy", place=number + 2, submit=number
        )
    for number in range(4, 12):
        factories.make_running_job(house.cluster, f"41_{number}", group="41", user="cy")
    for number in (50, 51):
        factories.make_job(house.cluster, f"{number}", group=TRAIN, user="cy", place=number)
    factories.make_job(house.cluster, "60", user="cy", place=1)
    factories.make_job(house.cluster, "70", group="only@cy/alpha", user="cy", place=70)
    return house


def rows(page: str, table: str) -> list[str]:
    """What the rows of a table are called, in their order."""
    return re.findall(rf'<tr data-row="{table}-([^"]+)"', page)


def show(client: Client, address: str) -> str:
    response = client.get(address)
    assert response.status_code == 200
    return response.content.decode()


def test_each_group_is_one_row_in_the_place_of_its_first_job(jobs: House, ada: Client) -> None:
    page = show(ada, "/partitions/x/")
    assert rows(page, "w") == ["60-x", "41_0-x-all", "50-x-all", "70-x"]
    assert rows(page, "r") == ["41_10-x-all"] or rows(page, "r") == ["41_4-x-all"]
    assert "12 tasks: 8 running, 4 waiting" in page
    assert "2 tasks: 2 waiting" in page
    assert ">t7</a>" in page, "a group is called as its user calls it"


def test_the_order_of_the_list_says_which_stands_for_all(jobs: House, ada: Client) -> None:
    assert rows(show(ada, "/partitions/x/?w_sort=-place"), "w") == ["70-x", "51-x-all", "41_3-x-all", "60-x"]


def test_a_link_unfolds_it_and_folds_it_again(jobs: House, ada: Client) -> None:
    page = show(ada, "/partitions/x/?w_sort=place")
    (link,) = re.findall(r'class="fold" href="(\?[^"]*w_open=41)"[^>]*aria-expanded="false"', page)
    page = show(ada, f"/partitions/x/{link.replace('&amp;', '&')}")
    assert rows(page, "w") == [
        "60-x",
        "41_0-x-all",
        "41_0-x",
        "41_1-x",
        "41_2-x",
        "41_3-x",
        "50-x-all",
        "70-x",
    ]
    assert 'name="w_open" value="41"' in page, "a poll keeps it"
    (back,) = re.findall(r'class="fold" href="\?([^"]*)"[^>]*aria-expanded="true"', page)
    assert parse_qs(back.replace("&amp;", "&")) == {"w_sort": ["place"]}
    assert rows(page, "r") == rows(show(ada, "/partitions/x/"), "r"), "the other list is another matter"


def test_a_group_of_any_name_unfolds(jobs: House, ada: Client) -> None:
    page = show(ada, "/partitions/x/?w_open=t7%40cy%2Falpha&w_open=nobody%22%3E")
    assert rows(page, "w") == ["60-x", "41_0-x-all", "50-x-all", "50-x", "51-x", "70-x"]
    assert 'nobody">' not in page


def test_the_fragment_does_the_same(jobs: House, ada: Client) -> None:
    page = ada.get("/partitions/x/?w_open=41", headers=part("partition-now")).content.decode()
    assert "<html" not in page
    assert "41_3-x" in rows(page, "w")


def test_a_filter_counts_its_own_rows_and_tells_of_all(jobs: House, ada: Client) -> None:
    page = show(ada, "/partitions/x/?q=41_2")
    assert rows(page, "w") == ["41_2-x-all"]
    assert "12 tasks: 8 running, 4 waiting" in page


def test_all_jobs_and_my_jobs_have_such_rows_too(jobs: House, signed_in: SignedIn) -> None:
    page = show(signed_in("ada"), "/jobs/?j_sort=job&j_open=41")
    assert len(rows(page, "j")) == 12 + 4
    jobs.people["vera"].cluster_user = "cy"
    jobs.people["vera"].save()
    page = show(signed_in("vera"), "/my-jobs/")
    assert [name for name in rows(page, "mw") if name.endswith("-all")] == ["41_0-x-all", "50-x-all"]
    page = show(signed_in("vera"), "/my-jobs/?mw_open=41")
    assert len(rows(page, "mw")) == 4 + 4
    assert 'name="mw_open" value="41"' in page


def test_in_chinese(jobs: House, ada: Client) -> None:
    set_language(jobs.people["ada"], "zh-hans")
    page = show(ada, "/partitions/x/")
    assert "12 个任务：8 个在运行，4 个在等待" in page


def test_of_a_very_large_group_the_first_tasks_are_shown(jobs: House, ada: Client) -> None:
    for number in range(MOST_TASKS + 5):
        factories.make_job(jobs.cluster, f"90_{number}", group="90", user="cy", place=100 + number)
    page = show(ada, "/partitions/x/?w_open=90")
    assert len([name for name in rows(page, "w") if name.startswith("90_")]) == MOST_TASKS + 1
    assert f"{MOST_TASKS + 5} tasks" in page
