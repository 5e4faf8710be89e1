"""Many victims of one array or elastic job are one row of a plan's table, which unfolds into them."""

import re
from datetime import timedelta
from html import unescape
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from console.steering.models import Fate, Plan, Victim
from tests import factories
from tests.factories import EPOCH
from tests.markup import flat
from tests.ui.conftest import House

TRAIN = "train@bob/alpha"


def victim(job: str, **facts: Any) -> dict[str, Any]:
    seen = {"name": "sweep", "user": "bob", "user_level": "P1", "task_level": "P1", "resources": "2 cpu"}
    held = {"amounts": {"cpu": 2}, "ran_s": 1800, "how": "requeue", "start": EPOCH - 300, "restarts": 0}
    return {"job": job, **seen, **held, **facts}


def plan_of(house: House, *victims: dict[str, Any], **fields: Any) -> Plan:
    cycle = factories.make_cycle(house.cluster, 70)
    return factories.make_plan(cycle, victims=list(victims), job_id="99", **fields)


def jobs_of(page: str) -> list[str]:
    """The first column of the table of victims."""
    table = page.partition("Jobs that make room</h2>")[2].partition("</table>")[0]
    body = table.partition("<tbody>")[2]
    return [
        flat(re.sub(r"<[^>]+>", " ", cell)).strip()
        for cell in re.findall(r"<tr[^>]*>\s*<td[^>]*>(.*?)</td>", body, re.DOTALL)
    ]


def show(client: Client, address: str, **headers: str) -> str:
    response = client.get(address, headers=headers)
    assert response.status_code == 200
    return response.content.decode()


@pytest.fixture
def sweep(house: House) -> Plan:
    """Five tasks of an array, a job alone, two tasks of another array, four workers of an elastic job."""
    return plan_of(
        house,
        victim("70"),
        *(victim(f"41_{n}", ran_s=600 * (n + 1), task_level="P1" if n else "P2") for n in range(5)),
        *(victim(f"42_{n}") for n in range(2)),
        *(victim(str(n), worker_of=TRAIN, least=1) for n in range(50, 54)),
    )


def test_a_group_of_many_is_one_row_in_the_place_of_its_first(sweep: Plan, ada: Client) -> None:
    page = show(ada, f"/plans/{sweep.pk}/")

    assert jobs_of(page) == ["70", "41 5 tasks", "42_0", "42_1", "train 4 tasks"]


def test_its_row_says_what_all_of_them_hold_and_lose(sweep: Plan, ada: Client) -> None:
    page = flat(
        re.sub(
            r"<[^>]+>",
            " ",
            show(ada, f"/plans/{sweep.pk}/").partition('<tr class="group">')[2].partition("</tr>")[0],
        )
    )

    assert "10 cpu" in page, "two of each of five"
    assert "up to 50 min" in page
    # 2 CPUs × (10 + 20 + 30 + 40 + 50) minutes.
    assert "5 CPU-h" in page
    assert page.count("P1") == 1, "the user level is alike, the task levels differ"


def test_a_link_unfolds_it_and_folds_it_again(sweep: Plan, ada: Client) -> None:
    address = f"/plans/{sweep.pk}/"
    (link,) = re.findall(r'class="fold" href="([^"]*v_open=41)"', show(ada, address))
    page = show(ada, unescape(link))

    assert jobs_of(page)[:8] == ["70", "41 5 tasks", "41_0", "41_1", "41_2", "41_3", "41_4", "42_0"]
    assert 'name="v_open" value="41"' in page, "a poll keeps it"
    (back,) = re.findall(r'class="fold" href="([^"]*)"[^>]*aria-expanded="true"', page)
    assert unescape(back) == f"{address}?"


def test_the_address_of_a_fold_does_not_keep_what_a_poll_sends(sweep: Plan, ada: Client) -> None:
    page = show(ada, f"/plans/{sweep.pk}/?since=3&seen=abc&v_open=%22%3E%3Cb%3E")

    assert "<b>" not in page
    for link in re.findall(r'class="fold" href="([^"]*)"', page):
        assert "since=" not in link and "seen=" not in link


def test_what_became_of_them_is_counted(sweep: Plan, ada: Client) -> None:
    for number, fate in enumerate(("returned", "returned", "waiting", "returned", "open")):
        sweep.fates.create(
            cluster=sweep.cluster, job_id=f"41_{number}", run_start=EPOCH - 300, run_restarts=0, fate=fate,
            sent_at=timezone.now() - timedelta(minutes=3),
        )  # fmt: skip
    row = show(ada, f"/plans/{sweep.pk}/").partition('<tr class="group">')[2].partition("</tr>")[0]

    said = flat(re.sub(r"<[^>]+>", " ", row))
    assert re.search(r"3 Came back 1 (Waits|Not yet known) 1 ", said), said


def test_who_was_not_stopped_after_all_has_lost_nothing(house: House, ada: Client) -> None:
    plan = plan_of(
        house, victim("70"), state="undone", undo_reason="Others came.", outcome="Others came. 70 lives."
    )
    run = {"job_id": "70", "run_start": EPOCH - 300, "run_restarts": 0}
    spared = {"fate": Fate.SPARED, "words": "It was not stopped.", "sent_at": timezone.now()}
    fate = Victim.objects.create(plan=plan, cluster=house.cluster, user="bob", job_name="x", **run, **spared)

    page = flat(show(ada, f"/plans/{plan.pk}/"))

    assert "nobody was stopped, no work was lost" in page
    assert "Not stopped" in page and "It was not stopped." not in page
    assert "requeued" not in page
    assert page.count("Others came.") == 1, "the reason stands in the outcome already"
    fate.fate = Fate.RETURNED
    fate.save()
    page = flat(show(ada, f"/plans/{plan.pk}/"))
    assert "work lost if nothing was saved" in page and "requeued" in page
