"""Urgency by deadline on the pages: the curve and what it is today, the rules, limits, the inbox, the history."""

import re
from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest
from django.test import Client

from console.audit.models import AuditEntry
from console.core import clock
from console.projects.curve import curve_of
from console.projects.models import (
    Membership,
    Project,
    ProjectRules,
    TaskPattern,
    UrgencyRequest,
    rules_in_force,
)
from console.projects.rulebook import ManagerLimits, Rules, SizeGrade, encode_rules
from scheduler.priority.deadline import Schedule, UrgencyStep
from tests import factories
from tests.markup import words_of
from tests.ui.conftest import House, SignedIn, part
from tests.ui.test_hostile_text import HOSTILE, MARK
from tests.ui.test_project_pages import typed

SCHEDULE = Schedule((UrgencyStep(30, 2.0), UrgencyStep(7, 4.0)), hold_days=1)
DATED = {"urgency": "1", "urgency_by": "deadline", "deadline": "2026-12-31"}


@pytest.fixture(autouse=True)
def december(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clock, "now", lambda: datetime(2026, 12, 10, 12, tzinfo=UTC))


def limit(**fields: Any) -> None:
    document = encode_rules(Rules(SCHEDULE, ManagerLimits(**fields)))
    ProjectRules.objects.update_or_create(pk=1, defaults={"document": document})


# --- The curve --------------------------------------------------------------------------------------------


def test_what_it_is_today_and_when_it_changes_next_is_said_with_the_numbers(
    house: House, ada: Client
) -> None:
    limit()
    page = ada.post("/projects/alpha/", typed(**DATED), follow=True).content.decode()
    text = words_of(page)
    assert "Today the urgency is 2 ; the deadline is 2026-12-31. From 2026-12-24 on it is 4." in text
    assert (
        "– 2026-11-30 1 2026-12-01 2026-12-23 in force today 2 2026-12-24 2027-01-01 4 2027-01-02 – 1" in text
    )
    assert "40 size ÷ 1 grade × 2 urgency = 80 score" in text
    assert re.search(r'<path class="state-strong" d="M28 \d', page)
    assert "by the deadline 2026-12-31" in ada.get("/projects/").content.decode()


def test_the_curve_is_shown_before_anything_is_saved(house: House, ada: Client) -> None:
    limit()
    text = words_of(ada.post("/levels-preview/", {**typed(**DATED), "code": "alpha"}).content.decode())
    assert "Today the urgency is 2" in text
    assert Project.objects.get(code="alpha").deadline is None
    by_hand = ada.post("/levels-preview/", {**typed(**{**DATED, "urgency_by": "hand"}), "code": "alpha"})
    assert "Today the urgency" not in words_of(by_hand.content.decode())
    assert "× 1 urgency" in words_of(by_hand.content.decode())


@pytest.mark.parametrize("day", ["", "soon", "1900-01-01", "2026-13-01"])
def test_half_a_deadline_draws_nothing(day: str, house: House, ada: Client) -> None:
    text = words_of(ada.post("/levels-preview/", {**typed(**{**DATED, "deadline": day})}).content.decode())
    assert "Today the urgency" not in text


def test_a_deadline_that_is_past_is_said_to_be(house: House, ada: Client) -> None:
    def told(day: str) -> str:
        return words_of(ada.post("/levels-preview/", typed(**{**DATED, "deadline": day})).content.decode())

    assert "The deadline is past. Today the urgency is" in told("2020-01-01")
    assert "The deadline is past." not in told("2190-01-01")


def test_the_drawing_rises_with_the_urgency_and_ends_at_the_base() -> None:
    curve = curve_of(SCHEDULE, 1, date(2026, 12, 31), date(2026, 12, 10))
    heights = [float(y) for y in re.findall(r"V([\d.]+)", curve.path)]
    start = float(curve.path.split(" ")[1].split("H")[0])
    assert start > heights[0] > heights[1] < heights[2] == start
    assert heights[1] == curve.top, "the highest step reaches the top of the plot"
    assert curve.left < curve.today_at < curve.deadline_at < curve.right
    assert [stretch.urgency for stretch in curve.stretches if stretch.is_now] == [2]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"deadline": ""}, "Say which day; the urgency follows from it."),
        ({"deadline": "31.12.2026"}, "Enter a valid date."),
        ({"deadline": "1999-12-31"}, "Must lie between"),
    ],
)
def test_a_wrong_deadline_is_said_at_its_field_and_nothing_is_lost(
    changes: dict[str, str], message: str, house: House, ada: Client
) -> None:
    sent = typed(**{**DATED, **changes}, slurm_account="kept-as-typed")
    page = ada.post("/projects/alpha/", sent, headers=part("project-form")).content.decode()
    field = page[page.index('name="deadline"') :]
    assert message in field[: field.index('name="slurm_account"')]
    assert 'value="kept-as-typed"' in page
    assert re.search(r'value="deadline"[^>]*checked', page)
    assert Project.objects.get(code="alpha").urgency_by == "hand"


# --- The rules --------------------------------------------------------------------------------------------

RULES = {
    "steps-TOTAL_FORMS": "3",
    "steps-INITIAL_FORMS": "0",
    "steps-0-days_left": "30",
    "steps-0-urgency": "2",
    "steps-1-days_left": "7",
    "steps-1-urgency": "4.5",
    "steps-2-days_left": "",
    "steps-2-urgency": "",
    "hold_days": "1",
    "urgency_limit": "4",
    "size_grade": "bounds",
    "size_max": "50",
    "managers_set_account": "on",
    "version": "1",
    "reason": "So agreed",
}


def test_an_administrator_sets_the_rules_and_finds_the_revision(house: House, ada: Client) -> None:
    page = ada.post("/project-rules/", RULES, follow=True).content.decode()
    assert "The rules have been saved" in page
    assert rules_in_force() == Rules(
        Schedule((UrgencyStep(30, 2.0), UrgencyStep(7, 4.5)), 1),
        ManagerLimits(
            urgency_limit=4,
            size_grade=SizeGrade.BOUNDS,
            size_max=50,
            managers_set_levels=False,
            managers_set_account=True,
        ),
    )
    assert "So agreed" in page
    assert AuditEntry.objects.get(action="project_rules.changed").actor == "ada"
    late = ada.post("/project-rules/", {**RULES, "hold_days": "9"}).content.decode()
    assert "since you looked at it (you saw version" in late
    assert rules_in_force().schedule.hold_days == 1


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"steps-1-urgency": "1"}, "The urgency must not fall: it is 2 at 30 days left and 1 at 7."),
        ({"steps-1-days_left": "30"}, "30 days left stands twice; keep one."),
        ({"steps-1-days_left": ""}, "This field is required."),
        ({"steps-1-urgency": "0"}, "7 days left: the urgency must be a number above zero"),
        ({"hold_days": "400"}, "From 0 to 365 days."),
        ({"size_min": "60"}, "Must not be below the smallest, 60."),
        ({"urgency_limit": "-1"}, "Must be a number above zero"),
        ({"reason": ""}, "Say why; it stands in the audit log."),
    ],
)
def test_wrong_rules_are_told_and_what_was_typed_is_kept(
    changes: dict[str, str], message: str, house: House, ada: Client
) -> None:
    page = ada.post("/project-rules/", {**RULES, **changes, "size_max": changes.get("size_max", "50.25")})
    assert message in page.content.decode()
    assert 'value="50.25"' in page.content.decode()
    assert rules_in_force() == Rules()


def test_steps_come_and_go_without_a_script(house: House, ada: Client) -> None:
    page = ada.post("/project-rules/", {**RULES, "row": "steps:remove:0"}).content.decode()
    assert re.findall(r'name="steps-\d+-days_left"(?: value="([^"]*)")?', page) == ["7", ""]
    assert rules_in_force() == Rules()


def test_a_manager_reads_the_rules_only(house: House, signed_in: SignedIn) -> None:
    page = signed_in("pam").get("/project-rules/").content.decode()
    assert "<fieldset disabled>" in page
    assert signed_in("pam").post("/project-rules/", RULES).status_code == 403


# --- Limits and requests ----------------------------------------------------------------------------------


def test_what_is_beyond_a_managers_limit_is_said_at_its_field(house: House, signed_in: SignedIn) -> None:
    limit(size_grade=SizeGrade.ADMINISTRATORS)
    sent = typed(size="41", managers="pam\npat", slurm_account="beta")
    page = signed_in("pam").post("/projects/alpha/", sent).content.decode()
    for text in (
        "Only administrators change it here.",
        "Only administrators name managers here.",
        "Only administrators set the Slurm account here.",
    ):
        assert text in page
    assert 'value="41"' in page and "pat" in page
    assert Project.objects.get(code="alpha").version == 1


def test_what_managers_may_not_change_is_shown_and_not_typed_over(house: House, signed_in: SignedIn) -> None:
    limit(size_grade=SizeGrade.BOUNDS, size_min=10, size_max=50, urgency_limit=4)
    page = signed_in("pam").get("/projects/alpha/").content.decode()
    assert re.search(r'name="slurm_account"[^>]*readonly', page)
    assert re.search(r'name="managers"[^>]*readonly', page)
    assert "Managers may set 10 to 50." in page
    assert "Above 4 it waits for an administrator" in page
    assert "readonly" not in signed_in("ada").get("/projects/alpha/").content.decode()


@pytest.fixture
def asked(house: House, signed_in: SignedIn) -> UrgencyRequest:
    limit(urgency_limit=4)
    page = signed_in("pam").post("/projects/alpha/", typed(urgency="9", name="Alpha now"), follow=True)
    assert "waits for an administrator" in page.content.decode()
    return UrgencyRequest.objects.get()


def test_the_request_is_seen_by_both_and_the_project_keeps_its_urgency(
    asked: UrgencyRequest, house: House, signed_in: SignedIn
) -> None:
    alpha = Project.objects.get(code="alpha")
    assert (alpha.urgency, alpha.name) == (3, "Alpha now")
    page = words_of(signed_in("pam").get("/projects/alpha/").content.decode())
    assert "pam asks for urgency 9." in page and "Withdraw it" in page
    assert "1 urgency that was asked for waits" in words_of(
        signed_in("ada").get("/projects/").content.decode()
    )
    inbox = words_of(signed_in("ada").get("/project-requests/").content.decode())
    assert "pam asks for urgency 9." in inbox and "The deadline has moved" in inbox


@pytest.mark.parametrize(("decision", "urgency"), [("approve", 9), ("reject", 3)])
def test_an_administrator_decides_with_a_reason(
    decision: str, urgency: float, asked: UrgencyRequest, ada: Client
) -> None:
    address = f"/project-requests/{asked.pk}/"
    assert "At its most the urgency is 3 today's way and 9" in words_of(
        ada.get(address).content.decode()
    ).replace("&#x27;", "'")
    assert "Say why" in ada.post(address, {"decision": decision, "reason": " "}).content.decode()
    assert Project.objects.get(code="alpha").urgency == 3
    page = ada.post(address, {"decision": decision, "reason": "For the customer"}, follow=True)
    assert "For the customer" in page.content.decode()
    assert Project.objects.get(code="alpha").urgency == urgency
    again = ada.post(address, {"decision": "approve", "reason": "Again"}).content.decode()
    assert "does not wait any more" in again


def test_a_deadline_that_is_asked_for_shows_its_curve_and_is_shortened(
    house: House, signed_in: SignedIn, ada: Client
) -> None:
    limit(urgency_limit=4)
    day = clock.today() + timedelta(days=20)
    wish = typed(urgency="9", urgency_by="deadline", deadline=day.isoformat())
    signed_in("pam").post("/projects/alpha/", wish)
    asked = UrgencyRequest.objects.get()
    address = f"/project-requests/{asked.pk}/"
    page = ada.get(address).content.decode()
    assert "The urgency over the days; the table has the numbers." in page
    assert f'hx-post="{address}what-if/" hx-trigger="load"' in page
    assert (
        "Say until which day." in ada.post(address, {"decision": "shorten", "reason": "r"}).content.decode()
    )
    earlier = day - timedelta(days=5)
    chosen = {"reason": "Only so long", "until": earlier.isoformat()}
    assert "Leave this empty" in ada.post(address, {"decision": "approve", **chosen}).content.decode()
    late = {"decision": "shorten", "reason": "r", "until": day.isoformat()}
    assert "Choose a day from today on" in ada.post(address, late).content.decode()
    assert Project.objects.get(code="alpha").urgency_by == "hand"
    done = ada.post(address, {"decision": "shorten", **chosen}, follow=True)
    assert "Only so long" in done.content.decode()
    assert Project.objects.get(code="alpha").deadline == earlier


@pytest.mark.parametrize(
    ("role", "decide", "withdraw"),
    [("pam", 403, 200), ("dave", 403, 403), ("otto", 403, 403), ("vera", 404, 404), ("ada", 200, 200)],
)
def test_who_may_decide_and_who_may_withdraw(
    role: str, decide: int, withdraw: int, asked: UrgencyRequest, signed_in: SignedIn
) -> None:
    browser = signed_in(role)
    address = f"/project-requests/{asked.pk}/"
    for page, status in ((address, decide), (f"{address}withdraw/", withdraw)):
        assert browser.get(page).status_code == status
        assert browser.post(page, {"reason": ""}).status_code == status
    asked.refresh_from_db()
    assert asked.state == "waiting"


def test_a_manager_withdraws(asked: UrgencyRequest, signed_in: SignedIn) -> None:
    answer = signed_in("pam").post(f"/project-requests/{asked.pk}/withdraw/", {"reason": "Not needed"})
    assert answer.headers["Location"] == "/projects/alpha/"
    asked.refresh_from_db()
    assert (asked.state, asked.decided_by) == ("withdrawn", "pam")


# --- The history ------------------------------------------------------------------------------------------


def test_the_history_tells_each_change_in_words(house: House, signed_in: SignedIn) -> None:
    limit()
    signed_in("pam").post("/projects/alpha/", typed(**DATED))
    text = words_of(signed_in("pam").get("/projects/alpha/history/").content.decode())
    assert "Project changed pam" in text
    assert "The deadline has moved" in text
    for told in (
        "urgency: 3 → 1",
        "urgency comes from: added By deadline",
        "deadline: added &quot;2026-12-31&quot;",
    ):
        assert told in text
    assert "about x" not in text, "rows about other things are not in it"


def test_the_history_comes_in_pages(house: House, ada: Client) -> None:
    for urgency in range(4, 40):
        ada.post("/projects/alpha/", typed(urgency=str(urgency), version=str(urgency - 3)))
    page = ada.get("/projects/alpha/history/").content.decode()
    older = re.search(r'href="(\?before=\d+)"', page)
    assert page.count('<li id="row-') == 30 and older
    rest = ada.get(f"/projects/alpha/history/{older[1]}").content.decode()
    assert rest.count('<li id="row-') == 7 and "Newest" in rest


# --- Levels and work --------------------------------------------------------------------------------------


def test_a_manager_sees_the_levels_in_each_partition_with_their_origin(
    house: House, signed_in: SignedIn
) -> None:
    text = words_of(signed_in("pam").get("/projects/alpha/levels/").content.decode())
    assert "ann P0 alpha: 40 ÷ 1 × 3 = 120 → P0" in text
    assert "alpha_eval* 2 P0 alpha: 40 ÷ 1 × 3 × 2 = 240 → P0" in text
    assert "asked for a job named alpha_eval" in text


def test_the_work_is_told_for_the_time_that_was_chosen(
    house: House, signed_in: SignedIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(clock, "now", lambda: factories.NOW)
    page = signed_in("pam").get("/projects/alpha/work/?days=3").content.decode()
    assert re.search(r'href="\?days=3" aria-current="page"', page)
    assert "Waits now 1 half of them for at most 10 min, the longest for 10 min" in words_of(page)
    for odd in ("", "x", "400", "٣"):
        page = signed_in("pam").get("/projects/alpha/work/", {"days": odd}).content.decode()
        assert re.search(r'href="\?days=7" aria-current="page"', page)


# --- What people write ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "address",
    ["/projects/alpha/{}", "/projects/alpha/levels/", "/projects/alpha/work/", "/projects/alpha/history/",
     "/project-rules/", "/project-requests/", "/project-requests/{}/", "/project-requests/{}/withdraw/"],
)  # fmt: skip
def test_what_people_write_stays_text(address: str, asked: UrgencyRequest, ada: Client) -> None:
    Project.objects.update(name=HOSTILE)
    TaskPattern.objects.update(pattern=HOSTILE, level=HOSTILE[:40])
    Membership.objects.filter(username="ann").update(username=HOSTILE[:150])
    UrgencyRequest.objects.update(reason=HOSTILE, asked_by=HOSTILE[:150])
    ada.post("/project-rules/", {**RULES, "reason": HOSTILE, "version": "1"})
    number = "" if address.startswith("/projects/alpha/{") else asked.pk
    answer = ada.get(address.format(number))
    assert answer.status_code == 200
    assert not MARK.search(answer.content.decode())
