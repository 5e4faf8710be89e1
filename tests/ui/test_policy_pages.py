"""A partition's policy in the browser: its form, the step to enforcement, its revisions."""

import re
from html import unescape
from typing import Any

import pytest
from django.test import Client

from console.audit.models import AuditEntry
from console.partitions import services as service
from console.partitions.models import Partition, PolicyRevision
from console.partitions.selectors import policy_of
from scheduler.model.policy import Enforcement, Mode
from tests import factories
from tests.markup import words_of
from tests.ui.conftest import House, SignedIn, part

WHOLE: dict[str, Any] = {
    "mode": "user_then_task", "enforcement": "shadow", "over_quota": "lowest", "victim_order": "shortest_runtime",
    "bands": "", "exempt_s": "0", "grace_s": "30", "checkpoint_signal": "USR1", "start_deadline_s": "120",
    "asked_to_save": "who_saves",
    "max_preemptions_per_job": "3", "admins": "dave", "based_on": "1", "reason": "Agreed on Monday",
    "min_wait_s": "0", "cool_down_s": "300", "max_stops_per_hour": "", "max_stops_per_user_hour": "",
    "protected_jobs": "", "protected_users": "", "protected_accounts": "", "protected_qos": "",
    "keyword_denied": "demote", "order": "levels", "dispatch": "slurm", "patience_s": "0",
    "units": "true", "elastic": "true", "partial": "take", "give_back": "units", "regrow_s": "0",
    "not_requeueable": "requeue", "cancel_notice_s": "600", "no_requeue_users": "",
    "rest_s": "0", "max_stops_per_job_hour": "", "max_crashes_per_hour": "",
    "levels-TOTAL_FORMS": "3", "levels-INITIAL_FORMS": "2",
    "levels-0-name": "P0", "levels-0-min_score": "60", "levels-0-keyword": "p0", "levels-0-quota": "1",
    "levels-0-keyword_users": "", "levels-1-keyword_users": "", "levels-2-keyword_users": "",
    "levels-0-keyword_open": "on", "levels-2-keyword_open": "on",
    "levels-1-name": "", "levels-1-min_score": "", "levels-1-keyword": "", "levels-1-quota": "",
    "levels-2-name": "P1", "levels-2-min_score": "20", "levels-2-keyword": "p1", "levels-2-quota": "3",
    "types-TOTAL_FORMS": "0", "types-INITIAL_FORMS": "0",
    "users-TOTAL_FORMS": "1", "users-INITIAL_FORMS": "1", "users-0-user": "carol", "users-0-level": "P0",
    "users-0-until": "", "tasks-0-until": "",
    "tasks-TOTAL_FORMS": "1", "tasks-INITIAL_FORMS": "1", "tasks-0-pattern": "release_*", "tasks-0-level": "P0",
}  # fmt: skip
AT = "/partitions/x/policy/"
FORM = part("policy-form")


def typed(**changes: Any) -> dict[str, Any]:
    """The policy as it is, with changes; `__` stands for the dash of rows."""
    return {**WHOLE, **{key.replace("__", "-"): value for key, value in changes.items()}}


def revision_of(house: House) -> PolicyRevision:
    found = Partition.objects.get(pk=house.x.pk).revision
    assert found is not None
    return found


def test_sending_the_form_as_it_came_changes_nothing(house: House, ada: Client) -> None:
    ada.post(AT, typed())
    assert revision_of(house).number == 1
    assert not AuditEntry.objects.filter(object_id="x", reason="Agreed on Monday").exists()


def test_its_administrator_changes_a_policy(house: House, signed_in: SignedIn) -> None:
    changed = typed(
        mode="task", levels__0__min_score="100", levels__0__quota="", levels__2__keyword="", grace_s="60",
        not_requeueable="cancel", cancel_notice_s="60", bands="P0\nP1, unconfigured", users__0__level="P1",
    )  # fmt: skip
    answer = signed_in("dave").post(AT, changed, follow=True)
    assert "The policy of x is in force." in answer.content.decode()
    policy = policy_of(Partition.objects.get(pk=house.x.pk))
    assert (policy.mode, policy.grace_s, policy.not_requeueable) == (Mode.TASK, 60, "cancel")
    assert [(rule.name, rule.min_score, rule.keyword) for rule in policy.levels] == [
        ("P0", 100, "p0"),
        ("P1", 20, None),
    ]
    assert policy.quotas == {"P1": 3}
    assert policy.bands == ((0,), (1, None))
    assert policy.user_overrides == {"carol": "P1"}
    row = AuditEntry.objects.filter(action="policy.activated", actor="dave").get()
    assert (row.reason, row.policy_revision) == ("Agreed on Monday", 2)


def test_the_form_shows_what_is_in_force(house: House, ada: Client) -> None:
    document = factories.policy_document("x", bands=[[0], [1, None]], quotas={"P1": 7}, mode="task_then_user")
    house.x.revision = PolicyRevision.objects.create(
        partition=house.x, number=2, document=document, enforcement="shadow", author="ada"
    )
    house.x.save()
    page = ada.get(AT).content.decode()
    assert re.search(r'value="task_then_user"[^>]*checked', page)
    assert ">\nP0\nP1, unconfigured</textarea>" in page
    assert re.search(r'name="levels-1-quota" value="7"', page)
    assert 'name="based_on" value="2"' in page


@pytest.mark.parametrize(
    ("changes", "field", "message"),
    [
        ({"levels__2__min_score": "60"}, "levels-2-min_score", "Must be below 60"),
        ({"levels__2__min_score": "x"}, "levels-2-min_score", "Enter a number."),
        ({"levels__2__name": "P0"}, "levels-2-name", "P0"),
        ({"levels__2__keyword": "p0"}, "levels-2-keyword", "p0"),
        ({"levels__2__quota": "-1"}, "levels-2-quota", "greater than or equal to 0"),
        ({"levels__1__quota": "4"}, "levels-1-name", "This field is required."),
        ({"users__0__level": "P9"}, "users-0-level", "is no level of the partition; known are"),
        ({"tasks__0__level": "P9"}, "tasks-0-level", "is no level of the partition; known are"),
        ({"tasks__0__pattern": ""}, "tasks-0-pattern", "This field is required."),
        ({"bands": "P0\nP7"}, "bands", "“P7” is no level above."),
        ({"bands": "P1\nP0"}, "bands", "“P0” stands too far down, or twice: list the highest band first"),
        ({"bands": "P0, P0"}, "bands", "“P0” stands too far down, or twice: list the highest band first"),
        ({"checkpoint_signal": "KILL"}, "checkpoint_signal", "is not one of USR1"),
        ({"grace_s": "-1"}, "grace_s", "greater than or equal to 0"),
        ({"grace_s": "soon"}, "grace_s", "Enter a whole number."),
        ({"mode": "random"}, "mode", "Select a valid choice."),
        ({"min_wait_s": "-1"}, "min_wait_s", "greater than or equal to 0"),
        ({"min_wait_s": "31536001"}, "min_wait_s", "At most 31536000 seconds, which is a year."),
        ({"cool_down_s": ""}, "cool_down_s", "This field is required."),
        ({"max_stops_per_hour": "1.5"}, "max_stops_per_hour", "Enter a whole number."),
        ({"max_stops_per_user_hour": "-1"}, "max_stops_per_user_hour", "greater than or equal to 0"),
        ({"protected_users": "ann," + "x" * 201}, "protected_users", "has 201 characters, at most 200"),
        ({"protected_jobs": '"\\x"'}, "protected_jobs", "is no text in quotation marks."),
        (
            {"protected_qos": "\n".join(map(str, range(1001)))},
            "protected_qos",
            "1001 entries are too many",
        ),
        ({"keyword_denied": "shout"}, "keyword_denied", "Select a valid choice."),
        ({"levels__0__keyword_users": '"\\x"'}, "levels-0-keyword_users", "is no text in quotation marks."),
        ({"reason": ""}, "reason", "Say why; it stands in the audit log."),
        ({"admins": "x" * 200}, "admins", "is no user name"),
    ],
)
def test_what_is_wrong_stands_beside_its_field(
    changes: dict[str, str], field: str, message: str, house: House, ada: Client
) -> None:
    answer = ada.post(AT, typed(**{"start_deadline_s": "777", **changes}), headers=FORM)
    page = answer.content.decode()
    assert answer.status_code == 422
    assert 'value="777"' in page, "what was typed is kept"
    assert "Nothing has been saved yet." in page
    after = page[page.index(f'name="{field}"') :]
    errors = re.search(r'<ul class="field-errors"[^>]*>(.*?)</ul>', after, re.DOTALL)
    assert errors
    assert message in errors.group(1)
    assert page.count('class="field-errors"') == 1, "only one field is at fault"
    assert revision_of(house).number == 1


LIMITS: dict[str, Any] = {
    "min_wait_s": 60,
    "cool_down_s": 0,
    "max_stops_per_hour": 20,
    "max_stops_per_user_hour": 0,
    "rest_s": 900,
    "max_stops_per_job_hour": 2,
    "max_crashes_per_hour": None,
    "protected_jobs": ["4711", "release_*", "two words"],
    "protected_users": ["ann", "eval-*"],
    "protected_accounts": ["physics"],
    "protected_qos": ["high"],
    "keyword_denied": "refuse",
    "order": "slurm",
    "units": False,
    "elastic": False,
    "partial": "take",
    "give_back": "whole",
    "regrow_s": 900,
    "patience_s": 60,
    "dispatch": "managed",
}
EVEN = {
    "resource": "gpu",
    "max_distance": 0.05,
    "else": "nearest",
    "applies_to": "asked",
    "swap_below_s": 600,
    "most_wait_s": 3600,
}


def test_even_sets_are_asked_for_in_the_form(house: House, ada: Client) -> None:
    ada.post(AT, typed(**{f"balance_{key}": value for key, value in EVEN.items()}), headers=FORM)
    assert revision_of(house).document["balance"] == EVEN
    page = ada.get(AT).content.decode()
    assert 'name="balance_max_distance" value="0.05"' in page
    ada.post(AT, typed(based_on=revision_of(house).number), headers=FORM)
    assert revision_of(house).document["balance"] is None, "without a resource there is no rule"


@pytest.mark.parametrize(
    ("typed_in", "field", "message"),
    [
        ({"balance_resource": "gpu"}, "balance_max_distance", "Say how far apart a set may be."),
        ({"balance_max_distance": "1"}, "balance_resource", "Say which resource is measured."),
        (
            {"balance_resource": "gpu", "balance_max_distance": "-1"},
            "balance_max_distance",
            "ust not be negative",
        ),
    ],
)
def test_half_a_rule_for_even_sets_is_refused_beside_its_field(
    typed_in: dict[str, str], field: str, message: str, house: House, ada: Client
) -> None:
    answer = ada.post(AT, typed(**typed_in), headers=FORM)
    page = answer.content.decode()
    after = page[page.index(f'name="{field}"') :]
    assert answer.status_code == 422
    assert message in after[: after.index("</ul>")]
    assert revision_of(house).number == 1


@pytest.mark.parametrize(
    ("of_a_job", "within_an_hour"), [("", "3 times"), ("2", "2 times"), ("7", "3 times")]
)
def test_the_page_states_how_often_one_job_is_stopped_within_an_hour(
    house: House, ada: Client, of_a_job: str, within_an_hour: str
) -> None:
    ada.post(AT, typed(max_stops_per_job_hour=of_a_job, grace_s="31"))
    page = words_of(ada.get(AT).content.decode())
    assert f"By what is in force, no job is stopped more than {within_an_hour} within an hour." in page


def test_limits_protections_and_keyword_users_are_put_in_force(house: House, ada: Client) -> None:
    ada.post(
        AT,
        typed(
            min_wait_s="60", cool_down_s="0", max_stops_per_hour="20", max_stops_per_user_hour="0",
            protected_jobs="4711\r\nrelease_*, two words\r\n", protected_users="ann,eval-*,ann",
            protected_accounts=" physics ", protected_qos="high", keyword_denied="refuse", order="slurm", rest_s="900",
            units="false", elastic="false", partial="take", give_back="whole", regrow_s="900",
            patience_s="60", dispatch="managed",
            max_stops_per_job_hour="2", max_crashes_per_hour="",
            levels__0__keyword_users="bob, carol-*", levels__0__keyword_open="",
        ),
    )  # fmt: skip
    document = revision_of(house).document
    assert {key: document[key] for key in LIMITS} == LIMITS
    assert document["levels"] == [
        {"name": "P0", "min_score": 60, "keyword": "p0", "keyword_users": ["bob", "carol-*"]},
        {"name": "P1", "min_score": 20, "keyword": "p1"},
    ]


def test_units_and_elastic_jobs_are_shown_as_they_are_and_a_script_may_leave_them_out(
    house: House, ada: Client
) -> None:
    ada.post(AT, typed(units="false", give_back="whole"))
    page = ada.get(AT).content.decode()
    assert re.search(r'<option value="false" selected>\s*is stopped whole', page)
    assert re.search(r'<option value="true" selected>\s*gives up workers before anybody is stopped', page)
    assert re.search(r'<option value="whole" selected>', page)
    ada.post(AT, typed(based_on="2"))
    now = policy_of(Partition.objects.get(pk=house.x.pk))
    assert (now.units, now.elastic, now.partial, now.give_back, now.regrow_s) == (
        True,
        True,
        "take",
        "units",
        0,
    )
    words = words_of(ada.get("/partitions/x/revisions/").content.decode())
    assert "single units may be given up" in words


def test_a_keyword_without_names_is_nobodys_until_everybody_is_chosen(house: House, ada: Client) -> None:
    """Sent as a new row is: the box is empty."""
    ada.post(AT, typed(levels__0__keyword_open=""))
    now = policy_of(Partition.objects.get(pk=house.x.pk))
    assert [rule.keyword_users for rule in now.levels] == [(), None]
    page = ada.get(AT).content.decode()
    assert not re.search(r'name="levels-0-keyword_open"[^>]* checked', page)
    assert re.search(r'name="levels-1-keyword_open"[^>]* checked', page)
    added = ada.post(AT, typed(row="levels:add")).content.decode()
    assert not re.search(r'name="levels-3-keyword_open"[^>]* checked', added)
    text = words_of(ada.get("/partitions/x/revisions/").content.decode())
    assert "level P0, who may use the keyword: everybody → nobody" in text
    beside = words_of(ada.get("/partitions/x/compare/?from=1&to=2").content.decode())
    assert "who may use the keyword differs everybody nobody" in beside
    ada.post(AT, typed(based_on="2"))
    assert policy_of(Partition.objects.get(pk=house.x.pk)).levels[0].keyword_users is None
    text = words_of(ada.get("/partitions/x/revisions/").content.decode())
    assert "level P0, who may use the keyword: nobody → everybody" in text


def test_a_keyword_is_everybodys_or_some_peoples(house: House, ada: Client) -> None:
    answer = ada.post(AT, typed(levels__0__keyword_users="bob"), headers=FORM)
    assert answer.status_code == 422
    assert "Everybody, or these names: choose one of the two." in answer.content.decode()
    assert revision_of(house).number == 1


def test_going_live_with_an_open_keyword_is_warned_of_there_and_on_the_partitions_page(
    house: House, ada: Client, signed_in: SignedIn
) -> None:
    warning = "The keyword p1 is open: anybody whose job is named p1_… has task level P1"
    sent = typed(enforcement="enforce", levels__0__keyword_users="bob", levels__0__keyword_open="")
    asked = words_of(ada.post(AT, sent).content.decode())
    assert warning in asked and "The keyword p0" not in asked
    assert warning not in words_of(ada.get("/partitions/x/").content.decode())
    ada.post(AT, sent | {"confirmed": "enforce"})
    assert warning in words_of(ada.get("/partitions/x/").content.decode())
    assert warning not in words_of(signed_in("vera").get("/partitions/x/").content.decode())


def sent_back(page: str) -> dict[str, str]:
    """What a browser would send of a form as it is shown."""
    boxes = re.findall(
        r'<input type="(?:text|number|hidden|datetime-local)" name="([^"]+)"(?: value="([^"]*)")?', page
    )
    texts = re.findall(r'<textarea name="([^"]+)"[^>]*>\n?(.*?)</textarea>', page, re.DOTALL)
    chosen = re.findall(
        r'<input type="(?:radio|checkbox)" name="([^"]+)"(?: value="([^"]*)")?[^>]* checked', page
    )
    options = re.findall(
        r'<select name="([^"]+)"(?:(?!</select>).)*?<option value="([^"]*)" selected', page, re.DOTALL
    )
    chosen = [(name, value or "on") for name, value in chosen]
    return {name: unescape(value) for name, value in [*boxes, *texts, *chosen, *options]}


@pytest.mark.parametrize(
    "name", ["a,b", " blank ", 'say "hi"', "line\nbreak", "\\", '"', "é*", "[!a-z]?", "<b>"]
)
def test_whatever_a_policy_protects_the_form_sends_it_back_as_it_is(
    name: str, house: House, ada: Client
) -> None:
    levels = [{"name": "P0", "min_score": 60, "keyword": "p0", "keyword_users": [name, "bob"]}]
    document = factories.policy_document(
        "x", **LIMITS | {"protected_jobs": [name, "4711"]}, levels=levels, quotas={"P0": 1}
    )
    service.activate_policy(actor="ada", partition=house.x, document=document, reason="Set", based_on=None)
    before = revision_of(house)
    answer = ada.post(AT, sent_back(ada.get(AT).content.decode()) | {"reason": "As it came"})
    assert answer.status_code == 302
    assert revision_of(house) == before


def test_the_same_user_twice_is_said_at_the_second(house: House, ada: Client) -> None:
    page = ada.post(
        AT, typed(users__TOTAL_FORMS="2", users__1__user="carol", users__1__level="P1")
    ).content.decode()
    after = page[page.index('name="users-1-user"') :]
    assert "carol stands twice; keep one." in after


def test_two_administrators_do_not_overwrite_each_other(house: House, signed_in: SignedIn) -> None:
    signed_in("dave").post(AT, typed(grace_s="60"))
    late = signed_in("ada").post(AT, typed(grace_s="90"))
    assert "since you looked at it (you saw version" in late.content.decode()
    assert revision_of(house).document["grace_s"] == 60


def test_only_administrators_name_administrators(house: House, signed_in: SignedIn) -> None:
    assert 'name="admins"' not in signed_in("dave").get(AT).content.decode()
    signed_in("dave").post(AT, typed(admins="dave\nmallory", grace_s="31"))
    assert list(house.x.admins.values_list("username", flat=True)) == ["dave"]
    signed_in("ada").post(AT, typed(admins="dave, erin", based_on="2", grace_s="31"))
    assert list(house.x.admins.values_list("username", flat=True)) == ["dave", "erin"]


@pytest.mark.parametrize(
    ("button", "names"),
    [
        ("levels:add", ["P0", "", "P1", ""]),
        ("levels:remove:1", ["P0", "P1"]),
        ("levels:up:2", ["P0", "P1", ""]),
        ("levels:up:0", ["P0", "", "P1"]),
        ("levels:down:0", ["", "P0", "P1"]),
        ("users:add", ["P0", "", "P1"]),
    ],
)
def test_rows_are_rearranged_without_a_script(
    button: str, names: list[str], house: House, ada: Client
) -> None:
    page = ada.post(AT, typed(row=button, grace_s="still typing", not_requeueable="cancel")).content.decode()
    assert re.findall(r'name="levels-\d+-name"(?: value="([^"]*)")?', page) == names
    assert 'value="still typing"' in page
    assert re.search(r'<option value="cancel"[^>]*selected', page)
    assert revision_of(house).number == 1


# --- Going to enforcement ---------------------------------------------------------------------------------


def hidden(page: str) -> dict[str, str]:
    """What the confirmation carries along."""
    return dict(re.findall(r'<input type="hidden" name="([^"]+)" value="([^"]*)"', page))


def test_going_to_enforcement_is_a_step_of_its_own(house: House, ada: Client) -> None:
    answer = ada.post(AT, typed(enforcement="enforce", grace_s="45", not_requeueable="cancel"))
    page = answer.content.decode()
    assert revision_of(house).number == 1, "nothing yet"
    assert "From the next cycle on, Giveway stops running jobs of x" in page
    assert (
        "A job that saves (ckpt in its comment) is sent USR1, with 45 s for it; then each is put back" in page
    )
    assert (
        "A job that cannot be requeued may be cancelled 10 min after it was first seen: its work is lost."
        in page
    )
    assert "stopped more than 3 times" in page
    assert "within an hour" not in page
    carried = hidden(page)
    assert carried["levels-2-min_score"] == "20"
    ada.post(AT, {**carried, "confirmed": "enforce"})
    assert revision_of(house).enforcement == Enforcement.ENFORCE
    assert revision_of(house).document["grace_s"] == 45


def test_the_confirmation_names_the_limits(house: House, ada: Client) -> None:
    limits = typed(
        enforcement="enforce", min_wait_s="120", max_stops_per_hour="0", max_stops_per_user_hour="2",
        protected_qos="high", levels__0__keyword_users="bob, carol", rest_s="600", max_stops_per_job_hour="1",
        max_crashes_per_hour="4", levels__0__keyword_open="",
    )  # fmt: skip
    page = ada.post(AT, limits).content.decode()
    assert "before it has waited 2 min" in page
    assert "At most 0 jobs are stopped within an hour." in page
    assert "At most 2 jobs of one user are stopped within an hour." in page
    assert "No job is stopped more than 1 time within an hour." in page
    assert "After it has come back it is left alone for 10 min, or until it has saved its state." in page
    assert "that ended badly within a minute of its start 4 times in an hour." in page
    assert "Protected jobs are left alone." in page
    ada.post(AT, {**hidden(page), "confirmed": "enforce"})
    document = revision_of(house).document
    assert (document["max_stops_per_hour"], document["protected_qos"]) == (0, ["high"])
    assert document["levels"][0]["keyword_users"] == ["bob", "carol"]


def test_one_can_go_back_from_the_confirmation(house: House, ada: Client) -> None:
    page = ada.post(AT, typed(enforcement="enforce", grace_s="45")).content.decode()
    back = ada.post(AT, {**hidden(page), "back": "1"}).content.decode()
    assert re.search(r'name="grace_s" value="45"', back)
    assert re.search(r'value="enforce"[^>]*checked', back)
    assert revision_of(house).number == 1


def test_with_htmx_the_confirmation_comes_as_the_part(house: House, ada: Client) -> None:
    answer = ada.post(AT, typed(enforcement="enforce"), headers=FORM)
    assert answer.status_code == 200
    assert "<html" not in answer.content.decode()
    assert "Enforce on x" in answer.content.decode()


@pytest.mark.parametrize("confirmed", ["", "shadow", "yes", "approve"])
def test_another_word_is_no_confirmation(confirmed: str, house: House, ada: Client) -> None:
    ada.post(AT, typed(enforcement="enforce", confirmed=confirmed))
    assert revision_of(house).enforcement == Enforcement.SHADOW


def test_who_enforces_already_is_not_asked_again(house: House, ada: Client) -> None:
    ada.post(AT, typed(enforcement="enforce", confirmed="enforce"))
    ada.post(AT, typed(enforcement="enforce", based_on="2", grace_s="10"))
    assert revision_of(house).number == 3


def test_what_is_wrong_comes_before_the_confirmation(house: House, ada: Client) -> None:
    page = ada.post(AT, typed(enforcement="enforce", levels__2__min_score="99")).content.decode()
    assert "From the next cycle on" not in page
    assert "Must be below 60" in page


# --- Revisions --------------------------------------------------------------------------------------------


def test_revisions_say_in_words_what_they_changed(house: House, ada: Client) -> None:
    ada.post(AT, typed(mode="task", levels__0__min_score="100", levels__2__quota="", grace_s="60"))
    text = words_of(ada.get("/partitions/x/revisions/").content.decode())
    assert "Revision 2 by ada in force Agreed on Monday" in text
    assert "mode: user, then task → task" in text
    assert "level P0, from score: 60 → 100" in text
    assert "quota P1: removed 3" in text
    assert "grace, seconds: 30 → 60" in text
    assert "The policy the partition started with." in text


def test_revisions_say_in_words_which_limits_changed(house: House, ada: Client) -> None:
    ada.post(
        AT,
        typed(
            min_wait_s="60", cool_down_s="0", max_stops_per_hour="20", max_stops_per_user_hour="3",
            protected_jobs="4711", protected_users="ann", protected_accounts="physics", protected_qos="high",
            keyword_denied="refuse", levels__0__keyword_users="bob", rest_s="900", max_stops_per_job_hour="",
            max_crashes_per_hour="5", levels__0__keyword_open="",
        ),
    )  # fmt: skip
    text = words_of(ada.get("/partitions/x/revisions/").content.decode())
    for words in (
        "wait before others are stopped, seconds: 0 → 60",
        "cool-down after being stopped, seconds: 300 → 0",
        "most stops within an hour: none → 20",
        "most stops of one user within an hour: none → 3",
        "left alone after a stop, seconds: 0 → 900",
        "most failed starts within an hour: none → 5",
        'protected jobs: added "4711"',
        "protected users: added ann",
        "protected accounts: added physics",
        "protected QOS: added high",
        (
            "a job with a keyword that is not its user's: is accepted; the keyword counts for nothing → "
            "is refused at submission where the plugin is installed, else accepted"
        ),
        "level P0, who may use the keyword: everybody → bob",
    ):
        assert words in unescape(text), words


def test_many_revisions_are_paged_and_each_compared_with_the_one_before(house: House, ada: Client) -> None:
    for number in range(2, 40):
        factories.make_revision(house.x, number, grace_s=number)
    second = words_of(ada.get("/partitions/x/revisions/?page=2").content.decode())
    assert "grace, seconds: 13 → 14" in second
    first = words_of(ada.get("/partitions/x/revisions/").content.decode())
    assert "grace, seconds: 14 → 15" in first, "the last one of a page is compared with the next page's first"


def test_task_types_are_rows_of_the_policy(house: House, ada: Client) -> None:
    rows = {
        "types-TOTAL_FORMS": "2", "types-INITIAL_FORMS": "0",
        "types-0-pattern": "TRAIN*", "types-0-cpus": "8", "types-0-gpus": "2", "types-0-minutes": "90",
        "types-1-pattern": "sweep_*", "types-1-elastic_min": "2", "types-1-elastic_wish": "4",
        "types-1-elastic_how": "restart", "types-1-balanced": "on",
    }  # fmt: skip
    ada.post(AT, typed() | rows)
    assert revision_of(house).document["task_types"] == [
        {"pattern": "TRAIN*", "cpus": 8, "gpus": 2, "time_s": 5400},
        {
            "pattern": "sweep_*",
            "elastic_min": 2,
            "elastic_wish": 4,
            "elastic_how": "restart",
            "balanced": True,
        },
    ]
    page = ada.get(AT).content.decode()
    assert 'name="types-0-minutes" value="90"' in page
    assert "Task types (2)" in words_of(page)


def test_a_fault_of_a_task_type_stands_in_its_row(house: House, ada: Client) -> None:
    rows = {
        "types-TOTAL_FORMS": "2", "types-INITIAL_FORMS": "0", "types-0-pattern": "",
        "types-1-pattern": "sweep_*", "types-1-elastic_wish": "4",
    }  # fmt: skip
    page = ada.post(AT, typed() | rows).content.decode()
    before, _, after = page.partition('name="types-1-elastic_min"')
    assert "is missing" not in before
    assert "an elastic task says how many workers it keeps" in words_of(after)
    assert revision_of(house).number == 1
