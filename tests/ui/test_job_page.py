"""One page per job, for victim, beneficiary and administrator; whoever is signed in may open it."""

from datetime import timedelta

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from console.accounts.models import User
from console.cluster.models import Job
from console.steering.models import Plan
from tests import factories
from tests.markup import words_of
from tests.ui.conftest import ROLES, House, SignedIn


def text_of(browser: Client, job_id: str) -> str:
    answer = browser.get(f"/jobs/{job_id}/")
    assert answer.status_code == 200
    return answer.content.decode()


def test_the_victim_reads_for_whom_and_by_which_rule(house: House, ada: Client) -> None:
    page = text_of(ada, "88")
    assert "Why is it going to be stopped?" in page
    assert "It is about to be stopped, to make room for 101 (ann)." in page
    assert "The rule of x: mode “user, then task”, policy revision 1. Jobs of lower users make room." in page
    assert f'href="/plans/{house.plan.pk}/"' in page


def test_the_beneficiary_reads_that_room_is_being_made(house: House, ada: Client) -> None:
    page = text_of(ada, "101")
    assert "Why is it waiting?" in page
    assert "Room is being made for it." in page
    assert f"Plan {house.plan.pk} stops 88 (bob) for it." in page


def test_a_very_long_name_is_cut_in_headings_and_whole_once(house: House, ada: Client) -> None:
    """Slurm takes names of any length: eight lines of one pushed what the page says out of sight."""
    name = "l1_" + "x" * 700
    Job.objects.filter(job_id="101").update(name=name)
    Plan.objects.filter(pk=house.plan.pk).update(job_name=name)
    assert text_of(ada, "101").count(name) == 1
    page = ada.get(f"/plans/{house.plan.pk}/").content.decode()
    assert name not in page and name[:79] + "…" in page


@pytest.mark.parametrize("role", [role for role in ROLES if role != "anonymous"])
def test_no_special_right_is_needed(role: str, signed_in: SignedIn) -> None:
    assert "It is about to be stopped" in text_of(signed_in(role), "88")


def test_the_jobs_owner_needs_nothing_but_an_account(house: House) -> None:
    owner: User = factories.make_viewer("bob")
    browser = Client()
    browser.force_login(owner)
    assert "Why is it going to be stopped?" in text_of(browser, "88")
    assert "Why is it waiting?" in text_of(browser, "101")


def test_a_stranger_is_sent_to_the_sign_in(signed_in: SignedIn) -> None:
    assert signed_in("anonymous").get("/jobs/88/").status_code == 302


def test_the_page_outlives_the_job(house: House, ada: Client) -> None:
    Job.objects.all().delete()
    victim, beneficiary = text_of(ada, "88"), text_of(ada, "101")
    assert "This is what Giveway has kept." in victim
    assert "101 (ann)" in victim
    assert "As Slurm has it" not in victim
    assert "Plan made for it" in beneficiary
    assert ada.get("/jobs/4242/").status_code == 404


def test_the_number_of_an_array_leads_to_its_tasks(house: House, ada: Client) -> None:
    for task in ("41_1", "41_2"):
        factories.make_job(house.cluster, task)
    answer = ada.get("/jobs/41/", follow=True)
    assert answer.redirect_chain == [("/jobs/?q=41_", 302)]
    assert b"41_1" in answer.content and b"41_2" in answer.content
    assert "It waits" in text_of(ada, "41_2")


def test_the_number_of_queries_does_not_grow_with_history(house: House, ada: Client) -> None:
    with CaptureQueriesContext(connection) as before:
        text_of(ada, "88")
    cycle = house.plan.cycle
    for number in range(20):
        plan = factories.make_plan(cycle, f"{500 + number}", state="verified", policy_revision=1)
        factories.make_action(
            plan,
            "requeue_hold",
            run_start=factories.EPOCH - 200 + number,
            state="verified",
            issued_at=factories.NOW,
        )
    with CaptureQueriesContext(connection) as after:
        page = text_of(ada, "88")
    assert "times before that" in page
    assert len(after) <= len(before)


def test_of_one_that_has_ended_all_is_said_in_the_past(house: House, ada: Client) -> None:
    ended = factories.NOW - timedelta(seconds=60)
    factories.make_running_job(
        house.cluster, "500", phase="ended", slurm_state="COMPLETED", ended_at=ended, time_limit_s=1800
    )
    page = words_of(text_of(ada, "500"))
    now = page[page.index("As last seen") :]
    assert "Held 4 cpu" in now
    assert "Ran 4 min of 30 min allowed" in now
    assert "Holds" not in now and "Runs" not in now
