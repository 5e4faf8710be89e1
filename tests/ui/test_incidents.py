"""Incidents on the pages: first on the overview, on their partition, plan and job; closed by who may, with a reason."""

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from console.audit.models import AuditEntry
from console.steering.models import Fate, Incident, Victim
from tests.ui.conftest import House, SignedIn

WORDS = "It ended (FAILED, signal 10) and was not put back into the queue."


@pytest.fixture
def incident(house: House) -> Incident:
    """Job 88 of bob was stopped by the house's plan, and is lost."""
    now = timezone.now()
    victim = Victim.objects.create(
        plan=house.plan, cluster=house.cluster, job_id="88", run_start=1, run_restarts=0, user="bob",
        fate=Fate.LOST, words=WORDS, sent_at=now,
    )  # fmt: skip
    return Incident.objects.create(
        cluster=house.cluster, partition="x", victim=victim, kind="failed", job_id="88", job_name="<b>low</b>",
        user="bob", plan=house.plan.pk, beneficiary=house.plan.job_id, words=WORDS, opened_at=now,
    )  # fmt: skip


def page(browser: Client, name: str, *args: object) -> str:
    answer = browser.get(reverse(name, args=args))
    assert answer.status_code == 200
    return answer.content.decode()


def test_an_open_incident_stands_first_on_the_overview(incident: Incident, ada: Client) -> None:
    text = page(ada, "overview")
    assert "Job 88 (bob) was stopped and did not come back." in text
    assert text.index("did not come back") < text.index('class="cards"')


def test_it_stands_on_its_partition_plan_and_job_and_on_no_other(
    incident: Incident, house: House, ada: Client
) -> None:
    for name, arg in (("partition", "x"), ("plan", house.plan.pk), ("job", "88")):
        assert WORDS in page(ada, name, arg), name
    assert "was stopped and did not come back." not in page(ada, "partition", "y")
    assert "Job 88 (bob) was stopped and did not come back." not in page(ada, "job", "101")


def test_the_plan_says_of_each_victim_what_became_of_it(
    incident: Incident, house: House, ada: Client
) -> None:
    victim = house.plan.victims[0]
    Victim.objects.update(
        job_id=victim["job"], run_start=victim.get("start", 0), run_restarts=victim.get("restarts", 0)
    )
    text = page(ada, "plan", house.plan.pk)
    assert "What became of it" in text
    assert "Lost" in text


def test_who_may_close_one_closes_it_with_a_reason(incident: Incident, signed_in: SignedIn) -> None:
    dave = signed_in("dave")
    assert "Close the incident" in page(dave, "incident", incident.pk)
    address = reverse("incident-close", args=[incident.pk])
    assert dave.post(address, {"reason": " "}).status_code == 422
    assert dave.post(address, {"reason": "n1 had a broken fan"}).status_code == 302

    incident.refresh_from_db()
    assert (incident.closed_by, incident.close_reason) == ("dave", "n1 had a broken fan")
    row = AuditEntry.objects.get(action="incident.closed")
    assert (row.actor, row.reason, row.job_id) == ("dave", "n1 had a broken fan", "88")
    assert "did not come back" not in page(dave, "overview")
    assert "n1 had a broken fan" in page(dave, "incident", incident.pk)


def test_sent_twice_it_is_closed_once(incident: Incident, signed_in: SignedIn) -> None:
    for reason in ("first", "second"):
        signed_in("dave").post(reverse("incident-close", args=[incident.pk]), {"reason": reason})
    incident.refresh_from_db()
    assert incident.close_reason == "first"
    assert AuditEntry.objects.filter(action="incident.closed").count() == 1


@pytest.mark.parametrize(("who", "status"), [("vera", 403), ("pam", 403), ("otto", 403), ("ada", 302)])
def test_others_may_look_but_not_close(
    incident: Incident, signed_in: SignedIn, who: str, status: int
) -> None:
    browser = signed_in(who)
    assert ("Close the incident" in page(browser, "incident", incident.pk)) is (status == 302)
    closed = browser.post(reverse("incident-close", args=[incident.pk]), {"reason": "for the test"})
    assert closed.status_code == status


def test_the_administrator_of_another_partition_may_not(incident: Incident, signed_in: SignedIn) -> None:
    Incident.objects.update(partition="y")
    closed = signed_in("dave").post(reverse("incident-close", args=[incident.pk]), {"reason": "mine"})
    assert closed.status_code == 403


def test_the_list_filters_by_state_and_partition(incident: Incident, ada: Client) -> None:
    assert WORDS in page(ada, "incidents")
    address = reverse("incidents")
    assert WORDS in ada.get(f"{address}?state=open&partition=x").content.decode()
    assert WORDS not in ada.get(f"{address}?state=closed").content.decode()
    assert WORDS not in ada.get(f"{address}?partition=y").content.decode()


def test_hostile_names_stay_text(incident: Incident, ada: Client) -> None:
    for name, args in (("overview", ()), ("incident", (incident.pk,)), ("incidents", ())):
        assert "<b>low</b>" not in page(ada, name, *args)
