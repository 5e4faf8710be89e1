"""Approvals: who is asked, what they see, and what comes of their answer; the tally of shadow."""

import re
from collections.abc import Callable
from datetime import timedelta
from html import unescape
from itertools import count
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone
from time_machine import TimeMachineFixture

from console.projects.models import UrgencyRequest
from console.steering.models import Plan, PlannedAction
from console.steering.pausing import pause
from console.steering.served import new_tasks
from tests import factories, needed
from tests.factories import EPOCH
from tests.markup import flat
from tests.ui.conftest import House, SignedIn, part


def victim(job: str = "88", **facts: Any) -> dict[str, Any]:
    seen = {"name": "p1_train", "user": "bob", "user_level": "P1", "task_level": "unconfigured"}
    held = {"resources": "2 gpu, 4 cpu", "amounts": {"gpu": 2, "cpu": 4}, "ran_s": 1800}
    return {"job": job, "how": "requeue", "start": EPOCH - 300, "restarts": 0, **seen, **held, **facts}


Ask = Callable[..., Plan]


@pytest.fixture
def ask(house: House, time_machine: TimeMachineFixture) -> Ask:
    """Makes a plan of x (from now on in approve) wait for dave."""
    house.plan.actions.all().delete()
    house.plan.delete()
    house.x.revision = factories.make_revision(house.x, 2, enforcement="approve")
    house.x.save()
    # Time stands still: a look is fresh for seconds only, what a victim loses grows, and a busy machine is slow.
    time_machine.move_to(house.cluster.observed_at, tick=False)

    cycles = count(8)

    def make(**fields: Any) -> Plan:
        defaults = {
            "enforcement": "approve",
            "policy_revision": 2,
            "victims": [victim()],
            "created_at": timezone.now() - timedelta(minutes=30),
        }
        return factories.make_plan(
            factories.make_cycle(house.cluster, next(cycles)), **{**defaults, **fields}
        )

    return make


def page_of(plan: Plan) -> str:
    return f"/plans/{plan.pk}/"


def seen_in(text: str) -> str:
    return text.partition('name="seen" value="')[2].partition('"')[0]


def answer(browser: Client, plan: Plan, decision: str, **changes: str) -> Any:
    seen = seen_in(browser.get(page_of(plan)).content.decode())
    data = {"decision": decision, "reason": "Delivery today", "seen": seen, **changes}
    return browser.post(f"{page_of(plan)}decision/", data, follow=True)


# --- The inbox --------------------------------------------------------------------------------------------------


def test_the_inbox_lists_what_waits_for_me(ask: Ask, signed_in: SignedIn) -> None:
    plan = ask()
    text = signed_in("dave").get("/approvals/").content.decode()

    assert f'href="/plans/{plan.pk}/"' in text
    assert "Stops 1 job of bob, loses 2 GPU-hours and 4 CPU-hours and starts 101 (ann) on n1." in text
    assert "alpha: 40 ÷ 1 × 3 = 120 → P0" in text  # why it matters, on the level


def test_what_waits_for_others_is_not_in_it(ask: Ask, signed_in: SignedIn) -> None:
    ask(partition="y")
    assert "Nothing waits for you" in signed_in("dave").get("/approvals/").content.decode()
    assert "Stops 1 job of bob" in signed_in("ada").get("/approvals/").content.decode()


@pytest.mark.parametrize(
    "fields", [{"state": "expired"}, {"enforcement": "shadow"}, {"kind": "quota"}, {"state": "approved"}]
)
def test_what_waits_for_nobody_is_not_in_it(ask: Ask, ada: Client, fields: dict[str, str]) -> None:
    ask(**fields)
    assert "Nothing waits for you" in ada.get("/approvals/").content.decode()


def test_the_navigation_counts_what_waits(ask: Ask, signed_in: SignedIn) -> None:
    assert 'id="approvals-count"></span>' in flat(signed_in("dave").get("/help/"))
    ask()
    for role, there in (("dave", True), ("ada", True), ("vera", False), ("otto", False)):
        text = flat(signed_in(role).get("/help/"))
        assert ('<span class="chip">1<span class="visually-hidden">plan waits</span>' in text) is there, role
        assert ('href="/approvals/"' in text) is there, role


def test_a_poll_brings_the_count_along(ask: Ask, signed_in: SignedIn) -> None:
    ask()
    text = flat(signed_in("dave").get("/partitions/x/", headers=part("partition-now")))
    assert '<span id="approvals-count" hx-swap-oob="true"><span class="chip">1' in text


def test_what_was_decided_lately_stands_below(ask: Ask, signed_in: SignedIn) -> None:
    dave = signed_in("dave")
    answer(dave, ask(), "reject", reason="Bob is nearly done")
    text = dave.get("/approvals/").content.decode()
    assert "Decided lately" in text
    assert "Bob is nearly done" in text


# --- The plan's page --------------------------------------------------------------------------------------------


def test_the_page_shows_what_there_is_to_weigh(ask: Ask, signed_in: SignedIn) -> None:
    plan = ask(
        passed_over=[{"job": "77", "reason": "equal_or_higher"}, {"job": "78", "reason": "exempt"}],
        alternatives=[
            {"kind": "wait", "possible": True, "starts_at": None, "victims": [], "nodes": [], "explain": ""},
            {
                "kind": "other_order",
                "order": "least_lost_work",
                "possible": True,
                "victims": [victim()],
                "nodes": ["n1"],
                "explain": "",
            },
            {
                "kind": "spare",
                "possible": True,
                "victims": [victim("90", user="carol", amounts={"cpu": 16})],
                "nodes": ["n2"],
                "explain": "",
            },
        ],
    )
    text = signed_in("dave").get(page_of(plan)).content.decode()

    assert "alpha: 40 ÷ 1 × 3 = 120 → P0" in text
    assert "keyword p1" in text
    assert "<strong>2 GPU-hours and 4 CPU-hours</strong>" in text
    assert "Equal or higher rank." in text and 'href="/jobs/77/"' in text
    assert "Has run for less than the exempt time." in text
    assert "It waits; Slurm does not say for how long." in text
    assert "The same jobs are stopped." in text
    assert "It starts on n2." in text and "16 CPU-h<" in text


def test_slurms_expectation_is_the_present_one(ask: Ask, house: House, ada: Client) -> None:
    wait = {"kind": "wait", "possible": True, "starts_at": None, "victims": [], "nodes": [], "explain": ""}
    plan = ask(alternatives=[wait])
    house.cluster.jobs.filter(job_id="101").update(estimated_start=EPOCH)
    text = ada.get(page_of(plan)).content.decode()
    assert "Slurm expects it to start" in text
    assert "2026-03-02T12:00:00" in text


def test_nothing_else_would_make_room(ask: Ask, ada: Client) -> None:
    spare = {"kind": "spare", "possible": False, "victims": [], "nodes": [], "explain": "3 CPUs short."}
    text = ada.get(page_of(ask(alternatives=[spare]))).content.decode()
    assert "Nothing else would make room." in text
    assert "3 CPUs short." in text


@pytest.mark.parametrize(("role", "asked"), [("dave", True), ("ada", True), ("vera", False), ("otto", False)])
def test_the_form_is_for_those_who_are_asked(ask: Ask, signed_in: SignedIn, role: str, asked: bool) -> None:
    text = signed_in(role).get(page_of(ask())).content.decode()
    assert ("Approve: stop 1 job" in text) is asked
    assert ("It waits for an administrator of x to approve or reject it." in text) is not asked


def test_a_typed_reason_survives_the_polls(ask: Ask, ada: Client) -> None:
    text = ada.get(page_of(ask()), headers=part("plan-progress")).content.decode()
    assert '<section class="sheet" id="plan-decision" hx-preserve="true"' in text


# --- The answer -------------------------------------------------------------------------------------------------


def test_approving(ask: Ask, signed_in: SignedIn) -> None:
    plan = ask()
    page = answer(signed_in("dave"), plan, "approve")

    plan.refresh_from_db()
    assert (plan.state, plan.decided_by, plan.decision_reason) == ("approved", "dave", "Delivery today")
    text = page.content.decode()
    assert page.redirect_chain == [(page_of(plan), 302)]
    assert f"Plan {plan.pk} is approved: it begins with the next cycle." in text
    assert "dave approved it" in text and "Approve: stop" not in text
    assert plan.actions.filter(kind="requeue_hold").count() == 1


def test_the_button_pressed_twice(ask: Ask, signed_in: SignedIn) -> None:
    plan, dave = ask(), signed_in("dave")
    seen = seen_in(dave.get(page_of(plan)).content.decode())
    data = {"decision": "approve", "reason": "Delivery today", "seen": seen}
    codes = [dave.post(f"{page_of(plan)}decision/", data).status_code for _ in range(2)]
    assert codes == [302, 302]
    assert plan.actions.filter(kind="requeue_hold").count() == 1


def test_rejecting(ask: Ask, signed_in: SignedIn) -> None:
    plan = ask()
    text = answer(signed_in("dave"), plan, "reject").content.decode()

    plan.refresh_from_db()
    assert (plan.state, plan.outcome) == ("rejected", "dave rejected it: Delivery today")
    assert f"Plan {plan.pk} is rejected: nobody is stopped." in text
    assert not PlannedAction.objects.exists()


@pytest.mark.parametrize("changes", [{"reason": ""}, {"reason": "   "}, {"decision": ""}, {"decision": "x"}])
def test_half_an_answer_is_none(ask: Ask, signed_in: SignedIn, changes: dict[str, str]) -> None:
    plan = ask()
    page = answer(signed_in("dave"), plan, **{"decision": "approve", **changes})
    assert page.status_code == 422
    assert "field-errors" in page.content.decode()
    plan.refresh_from_db()
    assert plan.state == "proposed"


def test_out_of_date_is_told_before_and_after(ask: Ask, house: House, signed_in: SignedIn) -> None:
    plan, dave = ask(), signed_in("dave")
    pause(actor="ada", cluster=house.cluster, partition=house.x, reason="Maintenance")
    change = "Nobody may be stopped now: ada paused the partition x: Maintenance."

    before = dave.get(page_of(plan)).content.decode()
    assert "It cannot be approved now." in before and change in before
    refused = answer(dave, plan, "approve")

    assert refused.status_code == 409
    text = refused.content.decode()
    assert f"Plan {plan.pk} cannot be approved now. {change}" in text
    assert "Delivery today" in text  # what was typed is not lost
    plan.refresh_from_db()
    assert plan.state == "proposed"


def test_an_old_tab_approves_nothing_that_costs_more(ask: Ask, house: House, signed_in: SignedIn) -> None:
    factories.make_running_job(house.cluster, "90")
    plan = ask()
    dave = signed_in("dave")
    seen = seen_in(dave.get(page_of(plan)).content.decode())
    factories.renew_plan(plan, [victim(ran_s=3600), victim("90", user="carol", ran_s=3600)])

    refused = answer(dave, plan, "approve", seen=seen)
    assert refused.status_code == 409
    text = refused.content.decode()
    assert f"Plan {plan.pk} costs more now than what you have read. 90 (carol) is stopped as well." in text
    assert "Work lost: 2 GPU-h · 4 CPU-h → 4 GPU-h · 8 CPU-h." in text
    assert "Delivery today</textarea>" in text  # what was typed is not lost
    assert "Approve: stop 2 jobs, lose 4 GPU-h · 8 CPU-h" in text
    assert seen_in(text) != seen

    again = answer(dave, plan, "approve", seen=seen_in(text))
    assert f"Plan {plan.pk} is approved" in again.content.decode()


def test_an_old_tab_approves_what_costs_less(ask: Ask, house: House, signed_in: SignedIn) -> None:
    plan = ask(victims=[victim(), victim("90")])
    dave = signed_in("dave")
    seen = seen_in(dave.get(page_of(plan)).content.decode())
    factories.renew_plan(plan, [victim(ran_s=3600)], "90")

    assert answer(dave, plan, "approve", seen=seen).redirect_chain == [(page_of(plan), 302)]
    plan.refresh_from_db()
    assert (plan.state, plan.decided_version) == ("approved", 1)


# --- A request that stands ----------------------------------------------------------------------------------------


def test_a_request_says_why_nothing_can_be_done_now(ask: Ask, signed_in: SignedIn) -> None:
    plan = ask(not_now="101 (ann, P0) may not start yet: it is held by its user.")
    dave = signed_in("dave")
    text = dave.get(page_of(plan)).content.decode()
    assert "It cannot be approved now." in text
    assert "101 (ann, P0) may not start yet: it is held by its user." in text
    assert "Stops 1 job of bob" not in text and "as it was last asked for" in text
    assert 'id="plan-decision"' in text
    assert "Not now:</strong> 101 (ann, P0) may not start yet" in dave.get("/approvals/").content.decode()

    refused = answer(dave, plan, "approve")
    assert refused.status_code == 409
    assert "Delivery today</textarea>" in refused.content.decode()
    assert f"Plan {plan.pk} is rejected" in answer(dave, plan, "reject").content.decode()


def test_what_changed_since_it_was_opened_stands_on_the_page_and_in_the_list(
    ask: Ask, house: House, signed_in: SignedIn
) -> None:
    factories.make_running_job(house.cluster, "90")
    plan = factories.renew_plan(ask(), [victim("90", user="carol", ran_s=60)], "88")
    dave = signed_in("dave")
    for address in (page_of(plan), "/approvals/"):
        text = dave.get(address).content.decode()
        assert "Since it was opened" in text, address
        assert "88 (bob) has ended. 90 (carol) is stopped instead. Work lost: 2 GPU-h" in text, address


def test_a_poll_says_what_changed_since_the_page_was_opened(
    ask: Ask, house: House, signed_in: SignedIn
) -> None:
    factories.make_running_job(house.cluster, "90")
    plan, dave = ask(), signed_in("dave")
    seen = seen_in(dave.get(page_of(plan)).content.decode())
    address = f"{page_of(plan)}?since=0&seen={seen}"
    assert (
        "since you opened this page" not in dave.get(address, headers=part("plan-progress")).content.decode()
    )

    factories.renew_plan(plan, [victim(ran_s=3600), victim("90")])
    text = dave.get(address, headers=part("plan-progress")).content.decode()
    assert "It has changed since you opened this page." in text
    assert "90 (bob) is stopped as well." in text
    assert "It costs more now: you are asked once more before it is carried out." in text
    assert '<span id="approve-label" hx-swap-oob="true">Approve: stop 2 jobs' in text


def test_what_was_typed_is_shown_when_it_is_over(ask: Ask, signed_in: SignedIn) -> None:
    plan, dave = ask(), signed_in("dave")
    seen = seen_in(dave.get(page_of(plan)).content.decode())
    Plan.objects.filter(pk=plan.pk).update(state="expired", outcome="101 has left the queue.")

    sent = answer(dave, plan, "approve", seen=seen)
    assert sent.status_code == 409
    text = sent.content.decode()
    assert "101 has left the queue." in text
    assert "Nobody is asked about this plan any more." in text and "Delivery today</textarea>" in text

    polled = dave.get(f"{page_of(plan)}?since=0&seen={seen}", headers=part("plan-progress"))
    assert polled.status_code == 286
    assert '<textarea id="id_reason"' in polled.content.decode()
    assert "id_reason" not in dave.get(page_of(plan)).content.decode()


def test_an_alternative_is_approved_with_the_same_reason(ask: Ask, house: House, signed_in: SignedIn) -> None:
    factories.make_running_job(house.cluster, "90")
    spare = {
        "kind": "spare",
        "possible": True,
        "victims": [victim("90", user="carol")],
        "nodes": ["n2"],
        "placement": {"n2": {"cpu": 4}},
        "explain": "90 gives them.",
    }
    plan, dave = ask(alternatives=[spare]), signed_in("dave")
    text = dave.get(page_of(plan)).content.decode()
    button = text.partition("Approve this instead")[0].rpartition("<button")[2]
    assert 'form="decision-form" name="decision"' in button and 'id="decision-form"' in text
    assert "Approve this instead" not in signed_in("vera").get(page_of(plan)).content.decode()

    text = answer(dave, plan, button.partition('value="')[2].partition('"')[0]).content.decode()
    assert f"Plan {plan.pk} is approved" in text
    assert "An alternative was approved instead of what was asked for: Spare these jobs." in text
    plan.refresh_from_db()
    assert (plan.chosen, plan.victims[0]["job"], plan.placement) == ("spare", "90", {"n2": {"cpu": 4}})


def test_tasks_of_one_array_are_one_entry_and_one_page(ask: Ask, house: House, signed_in: SignedIn) -> None:
    factories.make_running_job(house.cluster, "90")
    for task in range(2):
        factories.make_job(house.cluster, f"41_{task}")
    first, second = ask(job_id="41_0"), ask(job_id="41_1", victims=[victim("90", user="carol")])
    alone = ask(job_id="410")
    dave = signed_in("dave")

    text = flat(dave.get("/approvals/"))
    assert text.count("Look and decide") == 2
    assert 'data-summary="2 plans wait for you"' in text
    assert '<span class="chip">2<span class="visually-hidden">plans wait' in text
    assert "2 tasks of one array, decided together" in text
    assert f'href="/plans/{alone.pk}/"' in text and f'href="/plans/{second.pk}/"' not in text

    assert dave.get(page_of(second)).headers["Location"] == page_of(first)
    text = dave.get(page_of(first)).content.decode()
    assert "for 2 tasks of 41 p1_train (ann)" in text
    assert "starts 2 tasks of 41 (ann) on n1." in text
    assert 'href="/jobs/90/"' in text and 'href="/jobs/41_1/"' in text
    assert "Approve: stop 2 jobs" in text

    answer(dave, first, "approve")
    assert list(Plan.objects.order_by("pk").values_list("state", flat=True)) == [
        "approved",
        "approved",
        "proposed",
    ]


def test_tasks_that_get_room_by_one_plan_are_named_on_its_page(
    ask: Ask, house: House, signed_in: SignedIn
) -> None:
    factories.make_running_job(house.cluster, "90")
    for task in range(3):
        factories.make_job(house.cluster, f"41_{task}")
    tasks = new_tasks((f"41_{number}", 0, "n1") for number in range(3))
    plan = ask(job_id="41_0", tasks=tasks, placement={"n1": {"cpu": 6}})
    dave = signed_in("dave")

    text = dave.get("/approvals/").content.decode()
    assert "3 tasks of one array, decided together" in text
    text = dave.get(page_of(plan)).content.decode()
    assert "for 3 tasks of 41 p1_train (ann)" in text
    assert "starts 3 tasks of 41 (ann) on n1." in text
    assert all(f'href="/jobs/41_{number}/"' in text for number in range(3))

    answer(dave, plan, "approve")
    assert sorted(PlannedAction.objects.filter(kind="prioritise").values_list("job_id", flat=True)) == [
        f"41_{number}" for number in range(3)
    ]
    assert "for 3 tasks of 41 p1_train (ann)" in dave.get(page_of(plan)).content.decode()


def test_a_request_for_an_array_unfolds_into_its_tasks(ask: Ask, house: House, signed_in: SignedIn) -> None:
    factories.make_job(house.cluster, "41_0")
    factories.make_job(house.cluster, "90_0")
    ask(job_id="41_0", tasks=new_tasks((f"41_{number}", 0, "n1") for number in range(3)))
    ask(job_id="90_0", tasks=new_tasks((f"90_{number}", 0, "n1") for number in range(2)))
    dave = signed_in("dave")

    closed = dave.get("/approvals/").content.decode()
    assert 'href="/jobs/41_1/"' not in closed
    (link,) = re.findall(r'class="fold" href="([^"]*v_open=41)"', closed)
    text = dave.get(unescape(link)).content.decode()
    assert all(f'href="/jobs/41_{number}/"' in text for number in range(3)), "also those that the mirror lost"
    assert 'href="/jobs/90_1/"' not in text, "the other one stays folded"
    assert 'name="v_open" value="41"' in text, "a poll keeps it"
    (back,) = re.findall(r'class="fold" href="([^"]*)"[^>]*aria-expanded="true"', text)
    assert unescape(back) == "/approvals/?"


def test_an_open_page_goes_on_with_the_rest_of_an_array(ask: Ask, house: House, signed_in: SignedIn) -> None:
    for task in range(2):
        factories.make_job(house.cluster, f"41_{task}")
    first, second = ask(job_id="41_0"), ask(job_id="41_1")
    dave = signed_in("dave")
    seen = seen_in(dave.get(page_of(first)).content.decode())
    Plan.objects.filter(pk=first.pk).update(state="expired", outcome="41_0 has left the queue.")

    polled = dave.get(f"{page_of(first)}?since=0&seen={seen}", headers=part("plan-progress"))
    assert (polled.status_code, 'id="plan-decision"' in polled.content.decode()) == (200, True)
    data = {"decision": "approve", "reason": "Delivery today", "seen": seen}
    assert dave.post(f"{page_of(first)}decision/", data).headers["Location"] == page_of(second)
    assert "41_0 has left the queue." in dave.get(page_of(first)).content.decode()


def test_a_hostile_reason_is_text(ask: Ask, signed_in: SignedIn) -> None:
    text = answer(signed_in("dave"), ask(), "reject", reason="<script>alert(1)</script>").content.decode()
    assert "<script>alert(1)" not in text
    assert "&lt;script&gt;alert(1)" in text


# --- The tally --------------------------------------------------------------------------------------------------


def test_the_tally_sums_up_what_enforcing_would_have_done(
    ask: Ask, house: House, signed_in: SignedIn
) -> None:
    house.x.revision = factories.make_revision(house.x, 3, enforcement="shadow")
    house.x.save()
    house.x.revisions.update(created_at=timezone.now() - timedelta(days=2))
    ask(enforcement="shadow")
    text = signed_in("dave").get("/partitions/x/shadow/").content.decode()

    assert "1 job would have been stopped for 1 job, and 1 GPU-hour and 2 CPU-hours lost" in text
    assert timezone.localdate().isoformat() in text
    assert 'href="/partitions/x/policy/"' in text
    assert "/partitions/x/shadow/" in signed_in("vera").get("/partitions/x/").content.decode()
    assert "Open the policy" not in signed_in("vera").get("/partitions/x/shadow/").content.decode()


def test_a_partition_that_is_live_says_so(ask: Ask, ada: Client) -> None:
    ask()
    text = ada.get("/partitions/x/shadow/").content.decode()
    assert "It is live: its policy says “Approve”." in text
    assert "No plan was made in shadow." in text


def test_the_navigation_counts_what_managers_ask_for(house: House, signed_in: SignedIn) -> None:
    def link(name: str) -> str:
        page = signed_in(name).get("/help/").content.decode()
        return page.partition('href="/project-requests/"')[2].partition("</li>")[0]

    def ask_for(code: str) -> None:
        facts = {"asked_by": "pam", "asked_at": timezone.now(), "reason": "A demo"}
        project = factories.make_project(house.cluster, code)
        UrgencyRequest.objects.create(project=project, urgency=9, urgency_by="hand", **facts)

    assert "chip" not in link("ada")
    ask_for("one")
    needed.proposed(house.cluster)
    assert "2<span" in link("ada") and "requests wait" in link("ada")
    page = signed_in("dave").get("/help/").content.decode()
    assert 'href="/project-requests/"' not in page, "partition administrators do not decide on these"
