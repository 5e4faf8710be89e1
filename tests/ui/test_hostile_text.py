"""Job names, comments and project names are written by anybody: on every page they are text and nothing else."""

import re
from typing import Any

import pytest
from django.db import transaction
from django.test import Client
from django.urls import reverse

from console.audit.services import Subject, record
from console.cluster.models import Job
from console.projects.models import Project, TaskPattern
from console.steering.models import Plan, PlannedAction
from tests import factories
from tests.ui.conftest import House

HOSTILE = r""""><script>alert(1)</script><img src=x onerror=alert(2)>'{% now "\T\a\g\R\u\n" %}&lt;<style>*{}</style>"""
MARK = re.compile(r"<script>alert|<img src=x|<style>\*|TagRun")


@pytest.fixture
def hostile_house(house: House) -> House:
    texts: dict[str, Any] = {
        "name": HOSTILE,
        "comment": HOSTILE,
        "slurm_reason": HOSTILE[:200],
        "user": HOSTILE[:64],
    }
    Job.objects.update(
        **texts, project=HOSTILE[:64], explain=HOSTILE, user_origin=HOSTILE, task_origin=HOSTILE, protected=HOSTILE,
        resources=HOSTILE, user_level_name=HOSTILE[:40], task_level_name=HOSTILE[:40], account=HOSTILE[:64],
    )  # fmt: skip
    victim = {
        "job": "88",
        "name": HOSTILE,
        "user": HOSTILE,
        "how": HOSTILE,
        "user_level": HOSTILE,
        "resources": HOSTILE,
    }
    Plan.objects.update(
        job_name=HOSTILE, user=HOSTILE[:64], explain=HOSTILE, outcome=HOSTILE, undo_reason=HOSTILE, victims=[victim],
        placement={HOSTILE: {HOSTILE: 4}},
    )  # fmt: skip
    PlannedAction.objects.update(job_name=HOSTILE, user=HOSTILE[:64], detail=HOSTILE, value=HOSTILE[:40])
    Project.objects.update(name=HOSTILE)
    TaskPattern.objects.update(pattern=HOSTILE, level=HOSTILE[:40])
    factories.make_node(house.cluster, HOSTILE[:64], state=HOSTILE[:60], state_reason=HOSTILE, up=False)
    house.cluster.fault = HOSTILE
    house.cluster.save()
    factories.make_revision(house.x, 2, user_overrides={HOSTILE: "P0"})
    house.x.revisions.update(reason=HOSTILE, author=HOSTILE[:150])
    with transaction.atomic():
        record(
            actor=HOSTILE[:150],
            action="project.changed",
            subject=Subject("project", "alpha", HOSTILE, cluster="dev", project="alpha"),
            before={HOSTILE: HOSTILE},
            after={HOSTILE: [HOSTILE, {HOSTILE: 1}]},
            reason=HOSTILE,
        )
    return house


PAGES = (
    "/", "/partitions/x/", "/partitions/x/policy/", "/partitions/x/revisions/", "/jobs/", "/jobs/101/",
    "/jobs/88/", "/plans/", "{plan}", "/projects/", "/projects/alpha/", "/projects/alpha/delete/", "/audit/",
    "/priority-file/",
)  # fmt: skip


@pytest.mark.parametrize("address", PAGES)
def test_what_people_write_stays_text(address: str, hostile_house: House, ada: Client) -> None:
    address = reverse("plan", args=[hostile_house.plan.pk]) if address == "{plan}" else address
    answer = ada.get(address)
    assert answer.status_code == 200
    assert not MARK.search(answer.content.decode())


@pytest.mark.parametrize("address", ["/jobs/", "/partitions/x/", "/projects/", "/audit/", "/plans/"])
@pytest.mark.parametrize(
    "name", ["q", "partition", "state", "actor", "text", "job", "w_sort", "page", "before", "level"]
)
def test_what_stands_in_the_address_stays_text(address: str, name: str, ada: Client) -> None:
    page = ada.get(address, {name: HOSTILE}).content.decode()
    assert not MARK.search(page)


@pytest.mark.parametrize("address", ["/projects/alpha/", "/partitions/x/policy/", "/levels-preview/"])
def test_what_is_typed_stays_text(address: str, ada: Client) -> None:
    typed = {
        "name": HOSTILE, "size": "4", "grade": "1", "urgency": "1",
        "members": HOSTILE, "reason": HOSTILE, "bands": HOSTILE, "mode": HOSTILE,
        "tasks-TOTAL_FORMS": "1", "tasks-INITIAL_FORMS": "0", "tasks-0-pattern": HOSTILE, "tasks-0-importance": "2",
        "levels-TOTAL_FORMS": "1", "levels-INITIAL_FORMS": "0", "levels-0-name": HOSTILE,
        "types-TOTAL_FORMS": "0", "types-INITIAL_FORMS": "0", "users-TOTAL_FORMS": HOSTILE, "users-INITIAL_FORMS": "0",
    }  # fmt: skip
    page = ada.post(address, typed).content.decode()
    assert not MARK.search(page)
    assert "alert(1)" in page, "what was typed is kept"


def test_no_page_goes_elsewhere_after_a_choice_of_theme(ada: Client) -> None:
    for target in ("https://evil.example/", "//evil.example", "javascript:alert(1)", "\\\\evil.example"):
        assert ada.post("/theme/", {"theme": "dark", "next": target}).headers["Location"] == "/"
    assert ada.post("/theme/", {"theme": "dark", "next": "/jobs/?q=1"}).headers["Location"] == "/jobs/?q=1"
