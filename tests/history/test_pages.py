"""The panel "what would change" on the forms, for real cycles: a part, a page without script, who may, faults."""

import html
import re
from datetime import timedelta
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from pytest_django import Settings

from console.accounts.models import User
from console.core import clock
from console.core.templatetags import ui
from console.history.plots import number
from console.partitions.drafts import Content, create_draft
from console.partitions.models import Partition, PolicyRevision
from console.partitions.selectors import policy_in_force, written_out
from console.projects.models import Project, UrgencyRequest
from console.projects.services import ProjectData, create_project
from tests import factories
from tests.markup import flat
from tests.steering.conftest import Sim

LEVELS = [{"name": "P0", "min_score": 50}, {"name": "P1", "min_score": 1}]
ASKED = {"HX-Request": "true", "HX-Target": "what-if"}


@pytest.fixture
def people(sim: Sim) -> Sim:
    """Alpha's job waits, beta's runs, both at P1; pam manages alpha, dave administers x, ada everything."""
    sim.policy(levels=LEVELS, user_overrides={})
    for code in ("alpha", "beta"):
        data = ProjectData(
            code, code, 10, 1, 1, members=(code,), managers=("pam",) if code == "alpha" else ()
        )
        create_project(actor="ada", cluster=sim.cluster, data=data, reason="Test.")
    factories.make_partition_admin(Partition.objects.get(name="x"), "dave")
    for name in ("pam", "dave", "vera"):
        factories.make_viewer(name)
    factories.make_administrator("ada")
    sim.running("beta", 8, name="<b>bold</b>")
    sim.submit("alpha", 6)
    sim.cycle()
    return sim


def browser(name: str) -> Client:
    client = Client()
    client.force_login(User.objects.get(username=name))
    return client


def typed_project(**keys: Any) -> dict[str, Any]:
    values = {"name": "alpha", "size": "10", "grade": "1", "urgency": "9", "members": "alpha", "version": "1"}
    return {**values, "urgency_by": "hand", "tasks-TOTAL_FORMS": "0", "tasks-INITIAL_FORMS": "0", **keys}


def typed_policy(client: Client, **keys: Any) -> dict[str, Any]:
    """The policy's form as it is shown, with some fields typed over."""
    page = client.get("/partitions/x/policy/")
    form = page.context["form"]
    shown = {name: form[name].value() for name in form.fields}
    values = {name: value for name, value in shown.items() if value is not None and value is not False}
    for prefix, rows in page.context["rows"].items():
        values |= {f"{prefix}-TOTAL_FORMS": len(rows.forms), f"{prefix}-INITIAL_FORMS": 0}
        for row in rows.forms:
            values |= {row.add_prefix(n): row[n].value() for n in row.fields if row[n].value() is not None}
    return {**values, "reason": "", **keys}


def test_a_manager_sees_beside_the_form_what_an_urgency_would_do(people: Sim) -> None:
    answer = browser("pam").post("/projects/alpha/what-if/", typed_project(), headers=ASKED)
    text = answer.content.decode()
    assert answer.status_code == 200
    assert "<html" not in text
    assert "Stops 1 more job (of beta)" in text
    assert "Starts 1 more waiting job (of alpha)." in text
    assert "Moves 1 user to another level." in text
    assert "Compared with no change." in text
    assert ui.ago(people.cluster.observed_at).split(">")[0] in text
    assert "&lt;b&gt;bold&lt;/b&gt;" in text
    assert "<b>bold" not in text
    assert Project.objects.get(code="alpha").urgency == 1


def test_without_script_it_is_a_page_from_which_the_form_comes_back_as_it_was_typed(people: Sim) -> None:
    pam = browser("pam")
    typed = typed_project(members="alpha\nbob", reason="Because of Friday.")
    page = pam.post("/projects/alpha/what-if/", typed)
    text = page.content.decode()
    assert "Nothing was saved." in text
    assert "Stops 1 more job (of beta)" in text
    kept = dict(page.context["kept"])
    assert kept == typed
    shown = re.findall(r'<textarea name="([^"]+)" hidden[^>]*>\n(.*?)</textarea>', text, re.DOTALL)
    assert {name: html.unescape(value) for name, value in shown} == typed

    back = pam.post(page.context["back"], {**kept, "row": page.context["keep_rows"]})
    form = back.context["form"]
    assert form["urgency"].value() == "9"
    assert form["reason"].value() == "Because of Friday."
    assert Project.objects.get(code="alpha").urgency == 1


def test_a_partitions_administrator_sees_what_a_policy_would_do(people: Sim) -> None:
    dave = browser("dave")
    typed = typed_policy(
        dave,
        **{
            "types-TOTAL_FORMS": "0",
            "types-INITIAL_FORMS": "0",
            "users-TOTAL_FORMS": "1",
            "users-0-user": "alpha",
            "users-0-level": "P0",
        },
    )
    answer = dave.post("/partitions/x/what-if/", typed, headers=ASKED)
    assert "Stops 1 more job (of beta)" in answer.content.decode()
    assert PolicyRevision.objects.filter(partition__name="x").count() == 2
    same = dave.post("/partitions/x/what-if/", typed_policy(dave), headers=ASKED)
    assert "Nothing changes for the jobs that are there now." in same.content.decode()

    page = dave.post("/partitions/x/what-if/", typed)
    back = dave.post(page.context["back"], {**dict(page.context["kept"]), "row": page.context["keep_rows"]})
    assert back.context["rows"]["users"].forms[0]["user"].value() == "alpha"


def test_beside_the_button_that_goes_back_stands_what_it_would_do(people: Sim) -> None:
    """A comparison ends with "Put in force": what that does now is said in its form, before the button, unasked."""
    x = Partition.objects.get(name="x")
    document = written_out(policy_in_force(x).document) | {"user_overrides": {"alpha": "P0"}}
    draft = create_draft(actor="dave", partition=x, content=Content("Alpha first", document), reason="Test")
    dave = browser("dave")
    page = flat(dave.get(f"/partitions/x/compare/?to={draft.key}"))
    form = page[page.index('action="/partitions/x/activate/"') :]
    assert 'hx-post="/partitions/x/what-if/" hx-trigger="load"' in form[: form.index("Put in force")]

    asked = {"to": draft.key, "based_on": "2", "reason": ""}
    answer = dave.post("/partitions/x/what-if/", asked, headers=ASKED)
    assert "Stops 1 more job (of beta)" in answer.content.decode()
    same = dave.post("/partitions/x/what-if/", asked | {"to": "2"}, headers=ASKED)
    assert "Nothing changes for the jobs that are there now." in same.content.decode()
    gone = dave.post("/partitions/x/what-if/", asked | {"to": "77"}, headers=ASKED)
    assert "There is no such revision or draft." in gone.content.decode()
    lone = dave.post("/partitions/x/what-if/", asked)
    assert f'href="/partitions/x/compare/?to={draft.key}"' in lone.content.decode()


def test_the_past_is_asked_about_over_as_many_days_as_are_kept(people: Sim, settings: Settings) -> None:
    def spans() -> list[str]:
        page = flat(browser("pam").get("/projects/alpha/"))
        return re.findall(r'name="days" value="(\d+)" formaction="/projects/alpha/what-if/"', page)

    assert spans() == ["1", "7", "30"]
    settings.GIVEWAY_HISTORY_DAYS = 7
    assert spans() == ["1", "7"]


def test_a_new_project_and_a_priority_file_can_be_tried(people: Sim) -> None:
    people.submit("newcomer", 6)
    people.port.advance(61)
    people.cycle()
    ada = browser("ada")
    typed = typed_project(code="gamma", name="gamma", members="newcomer")
    assert "Stops 1 more job" in ada.post("/new-project/what-if/", typed, headers=ASKED).content.decode()
    assert not Project.objects.filter(code="gamma").exists()

    document = ada.get("/priority-file/export.json").content.decode()
    changed = document.replace('"urgency": 1', '"urgency": 9', 1)
    answer = ada.post("/priority-file/what-if/", {"document": changed}, headers=ASKED)
    assert "Stops 1 more job (of beta)" in answer.content.decode()
    broken = ada.post("/priority-file/what-if/", {"document": "{"}, headers=ASKED)
    assert "is not JSON" in broken.content.decode()


@pytest.mark.parametrize(
    ("address", "statuses"),
    [
        ("/partitions/x/what-if/", {"vera": 404, "pam": 404, "dave": 200, "ada": 200}),
        ("/partitions/q/what-if/", {"dave": 404, "ada": 200}),
        ("/partitions/nowhere/what-if/", {"ada": 404}),
        ("/projects/alpha/what-if/", {"vera": 404, "pam": 200, "dave": 403, "ada": 200}),
        ("/projects/beta/what-if/", {"pam": 404, "ada": 200}),
        ("/new-project/what-if/", {"vera": 403, "pam": 200, "dave": 403, "ada": 200}),
        ("/priority-file/what-if/", {"pam": 403, "dave": 200, "ada": 200}),
    ],
)
def test_who_may_change_it_may_ask(people: Sim, address: str, statuses: dict[str, int]) -> None:
    assert {name: browser(name).post(address, {}, headers=ASKED).status_code for name in statuses} == statuses
    assert Client().post(address, {}).status_code == 302
    assert browser("ada").get(address).status_code == 405


@pytest.mark.parametrize(
    ("keys", "line"),
    [
        ({"urgency": "0"}, "Urgency: Must be above zero."),
        ({"urgency": ""}, "Urgency: This field is required."),
        ({"urgency": "nan"}, "Urgency: "),
        ({"members": "ann,ann\x07"}, "Members: "),
        (
            {"tasks-TOTAL_FORMS": "1", "tasks-0-pattern": "", "tasks-0-importance": "2"},
            "Row 1: Job names: This field is required.",
        ),
    ],
)
def test_what_makes_no_sense_yet_is_said_line_by_line(people: Sim, keys: dict[str, str], line: str) -> None:
    answer = browser("pam").post("/projects/alpha/what-if/", typed_project(**keys), headers=ASKED)
    assert answer.status_code == 200
    assert line in html.unescape(answer.content.decode())


def test_a_policy_that_could_not_be_saved_says_why(people: Sim) -> None:
    dave = browser("dave")
    answer = dave.post("/partitions/x/what-if/", typed_policy(dave, bands="P9"), headers=ASKED)
    assert "Bands: “P9” is no level above." in html.unescape(answer.content.decode())


def test_before_the_first_look_it_says_so(sim: Sim) -> None:
    sim.policy()
    factories.make_administrator("ada")
    answer = browser("ada").post("/projects/alpha/what-if/", typed_project(), headers=ASKED)
    assert answer.status_code == 404
    answer = browser("ada").post("/new-project/what-if/", typed_project(code="alpha"), headers=ASKED)
    assert "The cluster has not been seen yet." in answer.content.decode()


@pytest.mark.parametrize(
    ("name", "page", "address"),
    [
        ("pam", "/projects/alpha/", "/projects/alpha/what-if/"),
        ("ada", "/new-project/", "/new-project/what-if/"),
        ("dave", "/partitions/x/policy/", "/partitions/x/what-if/"),
    ],
)
def test_the_forms_have_the_button(people: Sim, name: str, page: str, address: str) -> None:
    text = flat(browser(name).get(page))
    assert f'formaction="{address}" formnovalidate hx-post="{address}"' in text
    assert text.count('id="what-if"') == 1


def test_who_may_only_look_has_no_button(people: Sim) -> None:
    assert "what-if" not in browser("dave").get("/projects/alpha/").content.decode()


def test_a_proposed_file_has_the_button(people: Sim) -> None:
    ada = browser("ada")
    document = (
        ada.get("/priority-file/export.json").content.decode().replace('"urgency": 1', '"urgency": 9', 1)
    )

    upload = SimpleUploadedFile("file.json", document.encode(), content_type="application/json")
    text = ada.post("/priority-file/propose/", {"file": upload}).content.decode()
    assert 'hx-post="/priority-file/what-if/"' in text


def test_a_long_list_is_cut_and_says_so(people: Sim, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("console.history.views.MOST_ROWS", 1)
    for n in range(3):
        people.submit("alpha", 1, name=f"more{n}")
    people.port.advance(61)
    people.cycle()
    answer = browser("pam").post("/projects/alpha/what-if/", typed_project(), headers=ASKED)
    assert "and 3 more" in answer.content.decode()


def test_nothing_is_drawn_from_a_few_looks(people: Sim) -> None:
    """Seen on the demonstration: 44 real stops beside 6 and 3 from three recorded looks."""
    people.policy(levels=LEVELS, user_overrides={}, enforcement="shadow")
    for _ in range(2):
        people.port.advance(300)
        people.cycle()
    answer = browser("pam").post("/projects/alpha/what-if/", typed_project(days="7"), headers=ASKED)
    text = answer.content.decode()
    assert (
        "3 of 3 recorded looks at the cluster, over 10 min. That is 0.099 % of the 7 days asked for." in text
    )
    assert "This is too little to draw conclusions from" in text
    assert answer.context["plots"] == [] and "<figure" not in text
    assert "In this time 0 jobs were really stopped." in text
    assert "Really stopped" not in text, "no column beside what single moments show"


def test_the_last_days_are_told_with_plots_tables_and_what_is_not_known(people: Sim) -> None:
    people.policy(levels=LEVELS, user_overrides={}, enforcement="shadow")
    for _ in range(29):
        people.port.advance(300)
        people.cycle()
    pam = browser("pam")
    answer = pam.post("/projects/alpha/what-if/", typed_project(days="7"), headers=ASKED)
    text = answer.content.decode()
    past = answer.context["past"]
    assert past.used == past.looks == 30
    assert (past.total.present.stops, past.total.changed.stops) == (0, 1)
    assert text.count("<svg width=") == 2 + 4
    assert (
        "30 of 30 recorded looks at the cluster, over 2 h 25 min. That is 1.4 % of the 7 days asked for."
        in text
    )
    assert "What these numbers cannot know" in text
    assert "style=" not in text
    heights = [bar.height for plot in answer.context["plots"] for group in plot.groups for bar in group.bars]
    assert max(heights) > 0
    assert f'height="{max(heights)}"' in text
    waited = past.total.present.job_hours
    assert waited > past.total.changed.job_hours == 0
    assert f">{number(waited)}</td>" in text
    assert Project.objects.get(code="alpha").urgency == 1

    page = pam.post("/projects/alpha/what-if/", typed_project(days="7"))
    assert "days" not in dict(page.context["kept"])
    assert "Back to the form" in page.content.decode()


def test_the_last_days_when_there_are_none(people: Sim) -> None:
    answer = browser("pam").post("/projects/alpha/what-if/", typed_project(days="7"), headers=ASKED)
    assert "Too little is recorded yet." in answer.content.decode()


@pytest.mark.parametrize("days", ["x", "-1", "0", "99999", "٣"])
def test_what_is_no_number_of_days_is_the_question_about_now(people: Sim, days: str) -> None:
    answer = browser("pam").post("/projects/alpha/what-if/", typed_project(days=days), headers=ASKED)
    assert "Compared with no change." in answer.content.decode()


def test_what_allowing_a_managers_request_would_move_is_told_to_who_decides(people: Sim) -> None:
    alpha = Project.objects.get(code="alpha")
    asked = UrgencyRequest.objects.create(
        project=alpha, urgency=9, urgency_by="hand", asked_by="pam", asked_at=clock.now(), reason="Delivery"
    )
    at = f"/project-requests/{asked.pk}/what-if/"
    assert "Stops 1 more job (of beta)" in browser("ada").post(at, {}, headers=ASKED).content.decode()
    assert browser("pam").post(at, {}, headers=ASKED).status_code == 403
    assert browser("vera").post(at, {}, headers=ASKED).status_code == 404
    asked.urgency_by, asked.deadline = "deadline", clock.today() + timedelta(days=9)
    asked.save()
    wrong = browser("ada").post(at, {"until": "soon"}, headers=ASKED).content.decode()
    assert "Enter a valid date." in wrong
    alpha.refresh_from_db()
    assert (alpha.urgency, alpha.urgency_by) == (1, "hand")
