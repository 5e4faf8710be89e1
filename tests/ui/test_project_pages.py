"""A project's page: what is typed is kept, what is wrong stands beside its field, what follows is shown."""

import re
from typing import Any

import pytest
from django.test import Client

from console.audit.models import AuditEntry
from console.partitions.models import PolicyRevision
from console.projects.models import Project
from tests import factories
from tests.markup import flat
from tests.ui.conftest import House, SignedIn, part

WHOLE: dict[str, Any] = {
    "name": "Alpha",
    "size": "40",
    "grade": "1",
    "urgency": "5",
    "slurm_account": "alpha",
    "members": "ann\nbob",
    "managers": "pam",
    "version": "1",
    "reason": "The deadline has moved",
    "tasks-TOTAL_FORMS": "2",
    "tasks-INITIAL_FORMS": "1",
    "tasks-0-pattern": "alpha_eval*",
    "tasks-0-importance": "2",
    "tasks-1-pattern": "",
    "tasks-1-importance": "1",
}
FORM = part("project-form")


def typed(**changes: Any) -> dict[str, Any]:
    return {**WHOLE, **{key.replace("__", "-"): value for key, value in changes.items()}}


def test_a_manager_changes_the_urgency(signed_in: SignedIn, house: House) -> None:
    answer = signed_in("pam").post("/projects/alpha/", typed(), follow=True)
    assert "Project alpha has been saved." in answer.content.decode()
    alpha = Project.objects.get(code="alpha")
    assert (alpha.urgency, alpha.version) == (5, 2)
    assert sorted(alpha.memberships.values_list("username", flat=True)) == ["ann", "bob", "pam"]
    assert list(alpha.tasks.values_list("pattern", flat=True)) == ["alpha_eval*"]
    row = AuditEntry.objects.get(action="project.changed", actor="pam")
    assert row.reason == "The deadline has moved"
    assert len(row.request_id) == 32
    again = signed_in("pam").post("/projects/alpha/", typed(version="2"), follow=True).content.decode()
    assert "Nothing was different: project alpha stays as it was." in again
    assert "has been saved" not in again


def test_a_pattern_says_that_its_jobs_are_one_request_and_elastic(house: House, ada: Client) -> None:
    words = {"tasks__0__one_request": "on", "tasks__0__elastic_min": "2", "tasks__0__elastic_wish": "4"}
    ada.post("/projects/alpha/", typed(**words))
    task = Project.objects.get(code="alpha").tasks.get()
    assert (task.one_request, task.elastic_min, task.elastic_wish) == (True, 2, 4)
    page = ada.get("/projects/alpha/").content.decode()
    assert re.search(r'name="tasks-0-one_request"[^>]* checked', page)
    ada.post("/projects/alpha/", typed(version="2"))
    task.refresh_from_db()
    assert (task.one_request, task.elastic_min, task.elastic_wish) == (False, None, None)


def test_with_htmx_the_same_ends_in_a_page_of_its_own(house: House, ada: Client) -> None:
    answer = ada.post("/projects/alpha/", typed(), headers=FORM)
    assert answer.headers["HX-Redirect"] == "/projects/alpha/"
    assert Project.objects.get(code="alpha").urgency == 5


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"size": "0"}, "Must be above zero."),
        ({"size": "-3"}, "Must be above zero."),
        ({"grade": "first"}, "Enter a number."),
        ({"urgency": ""}, "This field is required."),
        ({"urgency": "nan"}, "Enter a number."),
        ({"size": "1e300"}, "A size of 1e+300 is too large, at most 1000000000: count in a larger unit."),
        ({"reason": "   "}, "Say why; it stands in the audit log."),
        ({"members": "x" * 200}, "is too long for a user name"),
        ({"name": ""}, "This field is required."),
        ({"tasks__0__importance": "0"}, "Must be above zero"),
        ({"tasks__1__level": "P0"}, "This field is required."),
        ({"tasks__1__pattern": "alpha_eval*"}, "alpha_eval* stands twice; keep one."),
        ({"tasks__0__elastic_wish": "2"}, "alpha_eval*: Say how many workers an elastic task keeps, too."),
        (
            {"tasks__0__elastic_min": "3", "tasks__0__elastic_wish": "2"},
            "alpha_eval*: It cannot wish for fewer workers than it keeps.",
        ),
        (
            {"tasks__0__pattern": "a" * 65, "tasks__0__one_request": "on"},
            "At most 64 characters, for its jobs are one request named after it.",
        ),
        ({"version": "99"}, "was changed since you looked at it"),
        ({"version": ""}, "was changed since you looked at it"),
    ],
)
def test_what_is_wrong_is_said_and_what_was_typed_is_kept(
    changes: dict[str, str], message: str, house: House, ada: Client
) -> None:
    sent = typed(urgency="7.5", slurm_account="kept-as-typed") | {
        k.replace("__", "-"): v for k, v in changes.items()
    }
    answer = ada.post("/projects/alpha/", sent, headers=FORM)
    page = answer.content.decode()
    assert answer.status_code == 422
    assert message in page
    assert 'value="kept-as-typed"' in page
    assert "<html" not in page
    assert Project.objects.get(code="alpha").urgency == 3
    without_script = ada.post("/projects/alpha/", sent)
    assert without_script.status_code == 200
    assert message in without_script.content.decode()


def test_the_error_stands_at_its_field(house: House, ada: Client) -> None:
    page = ada.post("/projects/alpha/", typed(grade="first")).content.decode()
    assert re.search(r'<input[^>]*value="first"[^>]*aria-invalid="true"', page)
    described = re.search(r'name="grade"[^>]*aria-describedby="([^"]*)"', page)
    assert described
    for name in described.group(1).split():
        assert f'id="{name}"' in page, "what a field is described by must exist"


def test_two_people_do_not_overwrite_each_other(house: House, signed_in: SignedIn) -> None:
    signed_in("pam").post("/projects/alpha/", typed(urgency="5"))
    late = signed_in("ada").post("/projects/alpha/", typed(urgency="9"))
    assert "since you looked at it (you saw version" in late.content.decode()
    assert Project.objects.get(code="alpha").urgency == 5


def test_the_code_never_changes(house: House, ada: Client) -> None:
    ada.post("/projects/alpha/", typed(code="stolen"))
    assert set(Project.objects.values_list("code", flat=True)) == {"alpha", "beta"}


@pytest.mark.parametrize(
    ("button", "patterns"),
    [
        ("tasks:add", ["alpha_eval*", "", ""]),
        ("tasks:remove:0", [""]),
        ("tasks:remove:99", ["alpha_eval*", ""]),
        ("tasks:down:0", ["", "alpha_eval*"]),
        ("tasks:nonsense:0", ["alpha_eval*", ""]),
    ],
)
def test_rows_come_and_go_without_a_script_and_nothing_is_saved(
    button: str, patterns: list[str], house: House, ada: Client
) -> None:
    page = ada.post("/projects/alpha/", typed(row=button, size="not yet a number")).content.decode()
    found = re.findall(r'<input type="text" name="tasks-\d+-pattern"(?: value="([^"]*)")?', page)
    assert found == patterns
    assert 'value="not yet a number"' in page
    assert "Enter a number" not in page, "a row's button checks nothing"
    assert Project.objects.get(code="alpha").version == 1


def test_an_unknown_row_button_saves_like_any_other(house: House, ada: Client) -> None:
    ada.post("/projects/alpha/", typed(row="nothing:add"))
    assert Project.objects.get(code="alpha").urgency == 5


def test_a_new_project(house: House, ada: Client) -> None:
    answer = ada.post("/new-project/", typed(code="gamma", name="Gamma"), follow=True)
    assert answer.redirect_chain == [("/projects/gamma/", 302)]
    assert Project.objects.get(code="gamma").score == 200
    again = ada.post("/new-project/", typed(code="gamma", name="Another"))
    assert "There is a project gamma already." in again.content.decode()
    broken = ada.post("/new-project/", typed(code="no spaces!"))
    assert "Letters, digits, dot, dash and underscore only." in broken.content.decode()


@pytest.mark.parametrize("code", ["new", "preview", "delete", "a..", "a.b-c_d"])
def test_no_code_hides_a_page_or_is_hidden_by_one(code: str, house: House, ada: Client) -> None:
    factories.make_project(house.cluster, code)
    assert f"<h1>{code}<" in flat(ada.get(f"/projects/{code}/"))


def test_deleting_says_what_follows_and_asks_why(house: House, ada: Client) -> None:
    assert "below every level there" in ada.get("/projects/beta/delete/").content.decode()
    refused = ada.post("/projects/beta/delete/", {"version": 1, "reason": ""})
    assert "Say why" in refused.content.decode()
    late = ada.post("/projects/beta/delete/", {"version": 7, "reason": "over"})
    assert "since you looked at it (you saw version" in late.content.decode()
    assert Project.objects.filter(code="beta").exists()
    done = ada.post("/projects/beta/delete/", {"version": 1, "reason": "over"}, follow=True)
    assert "Project beta has been deleted." in done.content.decode()
    assert not Project.objects.filter(code="beta").exists()


def test_readers_get_the_same_page_without_buttons(house: House, signed_in: SignedIn) -> None:
    page = signed_in("otto").get("/projects/alpha/").content.decode()
    assert "You may read this project, not change it." in page
    assert "<fieldset disabled>" in page
    assert 'name="row"' not in page
    assert ">Delete<" not in page


# --- What it comes to -------------------------------------------------------------------------------------


def preview(browser: Client, **changes: Any) -> str:
    text = browser.post("/levels-preview/", {**typed(**changes), "code": "alpha"}).content.decode()
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", text))


def test_the_formula_is_spelled_out(house: House, ada: Client) -> None:
    assert "40 size ÷ 1 grade × 5 urgency = 200 score" in preview(ada)


def test_the_levels_of_every_partition_are_computed_here(house: House, ada: Client) -> None:
    PolicyRevision.objects.filter(partition=house.y).update(
        document=factories.policy_document(
            "y", levels=[{"name": "Top", "min_score": 500}], quotas={}, user_overrides={}, task_overrides={}
        )
    )
    text = preview(ada, size="4", urgency="3")
    assert "x Members: P0 → – unconfigured" in text
    assert "moves 0 running and 1 waiting jobs" in text
    assert "y Members: – unconfigured" in text
    assert "alpha_eval* P1 12 × 2 = 24" in text


def test_a_level_of_its_own_counts_where_the_partition_has_it(house: House, ada: Client) -> None:
    assert "alpha_eval* P1 its own level" in preview(ada, tasks__0__level="P1")
    assert "alpha_eval* P0 200 × 2 = 400" in preview(ada, tasks__0__level="Unheard of")


@pytest.mark.parametrize("number", ["", "0", "-1", "x", "nan", "inf", "1e99", "٣x"])
def test_half_typed_numbers_are_no_error(number: str, house: House, ada: Client) -> None:
    assert "show here what they come to" in preview(ada, size=number)


def test_the_page_shows_the_same_without_a_script(house: House, ada: Client) -> None:
    page = ada.get("/projects/alpha/").content.decode()
    assert "What it comes to" in page
    assert re.search(r"120\s*<small>score", page)


def test_the_preview_names_no_project_that_is_not_ones_own(house: House, signed_in: SignedIn) -> None:
    """pam manages alpha: with beta's code she learns nothing about beta's present levels and jobs."""
    text = signed_in("pam").post("/levels-preview/", {**typed(), "code": "beta"}).content.decode()
    assert "→" not in text
    assert "waiting" not in text


def test_the_list_is_by_score_with_levels_and_a_search(house: House, ada: Client) -> None:
    page = ada.get("/projects/").content.decode()
    assert page.index(">alpha<") < page.index(">beta<")
    found = ada.get("/projects/?q=BET", headers=part("project-list")).content.decode()
    assert ">beta<" in found
    assert ">alpha<" not in found
    assert "No project fits." in ada.get("/projects/?q=zzz").content.decode()
