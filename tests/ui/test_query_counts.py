"""How many queries each page asks the database: a reviewed baseline, and that it does not grow with what there is.

Whoever makes a page ask more sees it here, and raises its line only with a reason. `MOST` is what a page should stay
below.
"""

import pytest
from django.db import connection, transaction
from django.test import Client
from django.test.utils import CaptureQueriesContext

from console.audit.services import Context, Subject, record
from tests import factories
from tests.ui.conftest import House, part

MOST = 21
# Address, queries as the administrator, who is asked for everything.
PAGES: dict[str, int] = {
    "/my-jobs/": 17,  # and which patterns of projects make jobs elastic, and when those that wait start
    "/partitions/x/timeline/": 12,  # and whether a minute was added since: without, none is read again
    "/studies/": 9,
    "/forecasts/": 17,  # and two that say whether anything has ended since: without, four are asked again
    "/insights/": 19,  # the same, and how far the past is added up: until that moves on, eight are not asked again
    "/": 21,  # and what needs the person (six), and the last day of all partitions
    "/help/": 8,
    "/partitions/x/": 19,  # and which of its rows belong together
    "/partitions/x/policy/": 10,
    "/partitions/x/quotas/": 13,
    "/partitions/x/revisions/": 13,
    "/partitions/x/hindsight/": 11,
    "/partitions/x/shadow/": 12,  # and who would start again on more nodes
    "/jobs/": 13,
    "/jobs/101/": 20,
    "/jobs/88/": 21,  # and what is forecast of it, and how likely it is stopped
    "/plans/": 11,  # and whether the cluster is seen
    "/plans/{plan}/": 15,  # and what became of its victims
    "/approvals/": 12,
    "/projects/": 16,  # and how many are proposed
    "/projects/alpha/": 14,
    "/audit/": 11,
    "/audit/?text=alpha&since=2026-01-01T00:00": 12,
    "/audit/1/": 12,
    "/history/jobs/88/": 17,  # and which plans of its array were for it
    "/history/projects/alpha/": 15,
    "/priority-file/": 10,
    "/account/": 13,  # and which partitions and projects are the person's own
}
POLLS: dict[str, tuple[str, int]] = {
    "/": ("partition-cards", 5),
    "/partitions/x/": ("partition-now", 5),
    "/jobs/": ("job-list", 5),
    "/jobs/101/": ("job-story", 6),
}
"""Part and queries of a poll that finds nothing new (204). A job's page looks who it is for first."""


def asked(browser: Client, address: str, **headers: str) -> tuple[int, int]:
    with CaptureQueriesContext(connection) as queries:
        answer = browser.get(address, headers=headers)
    return answer.status_code, len(queries)


def counts(house: House, browser: Client) -> dict[str, int]:
    found = {}
    for page in PAGES:
        status, number = asked(browser, page.format(plan=house.plan.pk))
        assert status == 200, page
        found[page] = number
    return found


def test_no_page_asks_more_than_its_line_says(house: House, ada: Client) -> None:
    found = counts(house, ada)
    assert {page: number for page, number in found.items() if number > PAGES[page]} == {}


def test_no_line_is_above_the_aim() -> None:
    assert {page: number for page, number in PAGES.items() if number > MOST} == {}


def test_queries_do_not_grow_with_what_there_is(house: House, ada: Client) -> None:
    before = counts(house, ada)
    _grow(house)
    after = counts(house, ada)
    # What is there for the first time may be asked for once; a query per row would be twenty more.
    assert {page: (before[page], after[page]) for page in PAGES if after[page] > before[page] + 2} == {}


def _grow(house: House) -> None:
    cycle = factories.make_cycle(house.cluster, 8)
    for i in range(20):
        factories.make_job(house.cluster, str(200 + i), project="alpha", place=i + 2)
        factories.make_running_job(house.cluster, str(300 + i), alloc={"n1": {"cpu": 1}})
        factories.make_project(house.cluster, f"p{i}")
        factories.make_member(house.alpha, f"user{i}")
        factories.make_task_pattern(house.alpha, f"task{i}*")
        factories.make_node(house.cluster, f"m{i}")
        plan = factories.make_plan(
            cycle, str(200 + i), state="proposed", enforcement="approve", policy_revision=1
        )
        factories.make_action(house.plan, job_id=str(300 + i))
        with transaction.atomic():
            record(
                actor="giveway",
                action="plan.verified",
                subject=Subject("plan", str(plan.pk), "a plan", cluster="dev", partition="x", job_id="88"),
                context=Context(plan=plan.pk),
            )


@pytest.mark.parametrize("address", POLLS)
def test_a_poll_that_finds_nothing_new_asks_little(address: str, house: House, ada: Client) -> None:
    target, most = POLLS[address]
    status, number = asked(ada, f"{address}?since={house.cluster.version}", **part(target))
    assert status == 204
    assert number <= most
