"""Thousands of jobs on one page: search, filter, order and pages are in the address, and the server does the work."""

import re
from collections import Counter
from typing import Any

import pytest
from django.db import connection
from django.http import QueryDict
from django.test import Client
from django.test.utils import CaptureQueriesContext

from console.cluster.models import Job
from console.overview.job_lists import (
    EVERY,
    PAGE_SIZE,
    RUNNING,
    WAITING,
    JobFilter,
    KnownList,
    ListKind,
    read_list,
)
from scheduler.model.sentence import say
from tests import factories
from tests.markup import flat
from tests.ui.conftest import House, part


def numbers(page: str, table: str) -> list[str]:
    """The jobs of one of the tables, in order."""
    return re.findall(rf'id="{table}-\d+">([\w]+)</a>', page)


@pytest.fixture
def jobs(house: House) -> House:
    Job.objects.all().delete()
    rows: list[tuple[str, dict[str, Any]]] = [
        ("9", {"name": "p0_eval", "user": "ann", "user_level": 0, "place": 2, "project": "alpha"}),
        ("10", {"name": "batch", "user": "bob", "user_level": None, "place": 3}),
        ("8", {"name": "sweep", "user": "cy", "user_level": 2, "place": 1}),
        ("11", {"name": "held", "user": "ann", "user_level": 1, "place": 0}),
    ]
    for job_id, fields in rows:
        factories.make_job(house.cluster, job_id, **fields)
        factories.make_running_job(house.cluster, f"{job_id}_1", **{**fields, "place": 0})
    factories.make_job(house.cluster, "77", partition="y")
    return house


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("", ["8", "9", "10", "11"]),
        ("w_sort=place", ["8", "9", "10", "11"]),
        ("w_sort=-place", ["11", "10", "9", "8"]),
        ("w_sort=job", ["8", "9", "10", "11"]),
        ("w_sort=-job", ["11", "10", "9", "8"]),
        ("w_sort=user_level", ["9", "11", "8", "10"]),
        ("w_sort=-user_level", ["10", "8", "11", "9"]),
        ("w_sort=name", ["10", "11", "9", "8"]),
        ("w_sort=nonsense", ["8", "9", "10", "11"]),
        ("w_sort=--job", ["8", "9", "10", "11"]),
        ("w_sort=job__user", ["8", "9", "10", "11"]),
        ("q=ann", ["9", "11"]),
        ("q=P0_E", ["9"]),
        ("q=1", ["10", "11"]),
        ("q=alpha", ["9"]),
        ("q=%25", []),
        ("level=0", ["9"]),
        ("level=none", ["10"]),
        ("level=99999999999999999999", ["8", "9", "10", "11"]),
        ("level=zero", ["8", "9", "10", "11"]),
        ("w_page=999", ["8", "9", "10", "11"]),
        ("w_page=nonsense", ["8", "9", "10", "11"]),
    ],
)
def test_the_address_says_which_jobs_in_which_order(
    query: str, expected: list[str], jobs: House, ada: Client
) -> None:
    assert numbers(ada.get(f"/partitions/x/?{query}").content.decode(), "w") == expected


def test_the_filter_is_for_both_tables(jobs: House, ada: Client) -> None:
    page = ada.get("/partitions/x/?q=ann").content.decode()
    assert numbers(page, "w") == ["9", "11"]
    assert numbers(page, "r") == ["9_1", "11_1"]
    assert "No running job fits the filter." in ada.get("/partitions/x/?q=nobody").content.decode()


def test_a_poll_keeps_what_was_searched_and_sorted(jobs: House, ada: Client) -> None:
    address = "/partitions/x/?q=ann&w_sort=-job&since=0"
    text = ada.get(address, headers=part("partition-now")).content.decode()
    assert numbers(text, "w") == ["11", "9"]
    assert '<input type="hidden" name="q" value="ann">' in text
    assert '<input type="hidden" name="w_sort" value="-job">' in text
    assert "since=0" not in text, "links must not carry the poll's version"


def test_a_page_is_fifty_rows_and_a_link_to_the_next(jobs: House, ada: Client) -> None:
    for i in range(PAGE_SIZE + 3):
        factories.make_job(jobs.cluster, str(2000 + i), place=10 + i)
    first = ada.get("/partitions/x/").content.decode()
    assert len(numbers(first, "w")) == PAGE_SIZE
    assert "1 to 50 of 57" in first
    assert "w_page=2" in first
    second = ada.get("/partitions/x/?w_page=2").content.decode()
    assert len(numbers(second, "w")) == 7
    assert not set(numbers(first, "w")) & set(numbers(second, "w"))


def test_the_known_count_is_the_true_one(jobs: House) -> None:
    rows = Job.objects.filter(partition="x", phase="pending")
    told = read_list(QueryDict(""), WAITING, rows, KnownList(grouped=False, total=4))
    counted = read_list(QueryDict(""), WAITING, rows)
    assert told.page.paginator.count == counted.page.paginator.count == 4
    assert [job.job_id for job in told.page] == [job.job_id for job in counted.page]
    assert not read_list(
        QueryDict(""), WAITING, rows.none(), KnownList(grouped=False, total=0)
    ).page.object_list


def test_by_level_no_others_are_gone_through_than_those_of_the_first_levels(jobs: House) -> None:
    for number in range(3 * PAGE_SIZE):
        factories.make_running_job(
            jobs.cluster,
            str(3000 + number),
            user_level=(None, 0, 1)[number % 3],
            task_level=(1, None)[number % 2],
        )
    rows = Job.objects.filter(partition="x", phase="running")
    levels = Counter(rows.values_list("user_level", "task_level"))
    known = KnownList(grouped=False, total=rows.count(), levels=levels)
    for page in ("", "1", "2", "3", "4", "99"):
        for sort in ("", "&r_sort=-user_level", "&r_sort=name"):
            query = QueryDict(f"r_page={page}{sort}")
            told, whole = read_list(query, RUNNING, rows, known), read_list(query, RUNNING, rows)
            assert list(told.page) == list(whole.page)
            assert told.page.number == whole.page.number
    with CaptureQueriesContext(connection) as asked:
        read_list(QueryDict(""), RUNNING, rows, known)
    [sql] = [each["sql"] for each in asked]
    assert '"user_level" = 0' in sql, "two pairs of levels have fifty jobs"
    assert '"user_level" = 1' not in sql and '"user_level" IS NULL' not in sql.split("ORDER BY")[0]


def test_every_column_that_sorts_does(jobs: House) -> None:
    rows = Job.objects.filter(partition="x")
    for kind in (WAITING, RUNNING):
        for column in kind.orders:
            up = [job.job_id for job in read_list(QueryDict(f"{kind.key}_sort={column}"), kind, rows).page]
            down = [job.job_id for job in read_list(QueryDict(f"{kind.key}_sort=-{column}"), kind, rows).page]
            assert sorted(up) == sorted(down)
            assert len(up) == 8


def test_the_search_is_cut_not_refused() -> None:
    assert len(JobFilter.read(QueryDict(mutable=False, query_string="q=" + "x" * 5000)).text) == 100


def test_searching_a_number_everywhere_leads_to_the_job(jobs: House, ada: Client) -> None:
    answer = ada.get("/jobs/?q=77")
    assert answer.status_code == 302
    assert answer.headers["Location"] == "/jobs/77/"
    assert numbers(ada.get("/jobs/?q=ann").content.decode(), "j") == ["9", "11", "77", "9_1", "11_1"]


@pytest.mark.parametrize(("phase", "count"), [("pending", 5), ("running", 4), ("ended", 0), ("nonsense", 9)])
def test_the_list_of_all_jobs_is_by_state(phase: str, count: int, jobs: House, ada: Client) -> None:
    assert len(numbers(ada.get(f"/jobs/?phase={phase}").content.decode(), "j")) == count


def test_a_large_cluster_is_shown_in_pages_of_nodes(jobs: House, ada: Client) -> None:
    for i in range(150):
        factories.make_node(jobs.cluster, f"big{i:03d}")
    page = ada.get("/partitions/x/?map=bars").content.decode()
    assert page.count('class="node"') == 120
    assert "1 to 120 of 152" in page
    second = ada.get("/partitions/x/?n_page=2").content.decode()
    assert second.count('class="node') - second.count('class="node-') == 32
    assert 'name="n_page" value="2"' in second, "a poll keeps the page"


@pytest.mark.parametrize(
    ("query", "waiting", "runs"),
    [
        ("user=ann", ["9", "11"], ["9_1", "11_1"]),
        ("user=an", [], []),
        ("project=alpha", ["9"], ["9_1"]),
        ("phase=held", ["11"], []),
        ("phase=pending", ["8", "9", "10", "11"], []),
        ("phase=running", [], ["9_1", "11_1", "8_1", "10_1"]),
        ("phase=stopped", [], ["8_1"]),
        ("phase=protected", [], ["9_1"]),
        ("phase=plan", ["8"], []),
        ("phase=nonsense", ["8", "9", "10", "11"], ["9_1", "11_1", "8_1", "10_1"]),
        ("node=n1", [], ["9_1", "11_1", "8_1"]),
        ("node=n7", [], ["10_1"]),
        ("node=n", [], []),
        ('node=n1"]', [], []),
        ("node=n1&user=ann&level=1", [], ["11_1"]),
        ("user=%00ann", ["9", "11"], ["9_1", "11_1"]),
    ],
)
def test_jobs_are_filtered_by_user_project_state_and_node(
    query: str, waiting: list[str], runs: list[str], jobs: House, ada: Client
) -> None:
    Job.objects.filter(job_id="11").update(held=True)
    Job.objects.filter(job_id="8_1").update(preemptions=2)
    Job.objects.filter(job_id="9_1").update(protected="by hand")
    Job.objects.filter(job_id="8").update(plan=jobs.plan.pk)
    Job.objects.filter(job_id="10_1").update(alloc={"n7": {"cpu": 1}, "n17": {"cpu": 1}})
    page = ada.get(f"/partitions/x/?{query}").content.decode()
    assert numbers(page, "w") == waiting
    assert numbers(page, "r") == runs


def heads(page: str, table: str) -> list[str]:
    """The keys of the columns that sort, in order."""
    return re.findall(rf'id="{table}-head-(\w+)"', page)


def test_columns_are_chosen_in_the_address(jobs: House, ada: Client) -> None:
    page = ada.get("/partitions/x/?w_col=user&w_col=expected&w_col=nonsense").content.decode()
    assert heads(page, "w") == ["job", "user", "expected"], "in the one order, the job always among them"
    assert "project" in heads(page, "r"), "the other list keeps its own"
    row = page[page.index('data-row="w-9-x"') :].partition("</tr>")[0]
    assert row.count("<td") == 3
    assert "p0_eval" not in row
    everything = "&".join(f"w_col={key}" for key in WAITING.offered)
    page = ada.get(f"/partitions/x/?{everything}").content.decode()
    row = page[page.index('data-row="w-9-x"') :].partition("</tr>")[0]
    assert row.count("<td") == len(WAITING.offered)


@pytest.mark.parametrize("kind", [WAITING, RUNNING, EVERY], ids=lambda kind: kind.key)
def test_a_row_has_a_cell_for_every_column(kind: ListKind, jobs: House, ada: Client) -> None:
    address = "/jobs/" if kind is EVERY else "/partitions/x/"
    for key in kind.offered:
        page = ada.get(f"{address}?{kind.key}_col={key}").content.decode()
        row = page[page.index(f'data-row="{kind.key}-') :].partition("</tr>")[0]
        assert row.count("<td") == (1 if key == "job" else 2), key


def test_a_poll_and_a_link_keep_columns_and_filters(jobs: House, ada: Client) -> None:
    address = "/partitions/x/?w_col=name&w_col=user&user=ann&since=0"
    text = ada.get(address, headers=part("partition-now")).content.decode()
    for value in ("name", "user"):
        assert f'<input type="hidden" name="w_col" value="{value}">' in text
    assert '<input type="hidden" name="user" value="ann">' in text
    link = re.search(r'href="(\?[^"]*)"[^>]* id="w-head-name"', text)
    assert link is not None
    assert "w_col=name&amp;w_col=user&amp;user=ann" in link[1]


def test_the_list_of_all_jobs_is_by_partition_too(jobs: House, ada: Client) -> None:
    assert numbers(ada.get("/jobs/?partition=y").content.decode(), "j") == ["77"]


def test_a_job_that_may_not_start_says_at_once_what_it_waits_for(house: House, ada: Client) -> None:
    """The words "It may not start yet, whatever room there is" said everything but the cause."""
    why = say("waits.limit_of_qos", name="QOSMaxJobsPerUserLimit")
    explain = say("blocked", who=say("job", job="55", user="ann", level="P1"), why=why)
    factories.make_job(house.cluster, "55", reason="blocked", explain=explain, place=1)
    page = flat(ada.get("/partitions/x/").content.decode())
    assert "<summary>A limit of its QOS is reached (QOSMaxJobsPerUserLimit).</summary>" in page
