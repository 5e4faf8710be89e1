"""Asking what the last month would have been, and reading it: on pages, over the API, and who may."""

import csv
from typing import Any

import pytest
from rest_framework.test import APIClient

from console.accounts.models import User
from console.audit.models import AuditEntry
from console.history.models import Study
from console.history.studying import work_all_off
from console.partitions.models import Partition
from console.partitions.services import ensure_partition
from tests import factories
from tests.history.past_jobs import two_days
from tests.history.test_pages import ASKED, LEVELS, browser, people, typed_policy
from tests.steering.conftest import Sim

__all__ = ["people"]
ADDRESS = "/partitions/x/hindsight/"
API = "/api/v1/partitions/x/hindsight/"
PART = {"HX-Request": "true", "HX-Target": "study-now"}


@pytest.fixture
def past(people: Sim) -> Sim:
    """Alpha is P0 and beta P1; x has been in shadow; otto reads everything."""
    people.policy(levels=LEVELS, user_overrides={"alpha": "P0"}, enforcement="shadow")
    two_days(people.cluster)
    factories.make_auditor("otto")
    factories.make_viewer("eve")
    factories.make_partition_admin(ensure_partition(cluster=people.cluster, name="y"), "eve")
    return people


def client(name: str) -> APIClient:
    made = APIClient()
    made.force_authenticate(User.objects.get(username=name))
    return made


def test_a_button_starts_it_the_page_follows_it_and_its_first_sentence_answers(past: Sim) -> None:
    dave = browser("dave")
    before = dave.get(ADDRESS).content.decode()
    assert "Finished jobs of 3 days are known." in before
    assert dave.post(ADDRESS, {"days": "7"})["Location"] == ADDRESS
    study = Study.objects.get()
    assert (study.kind, study.partition, study.days, study.state) == ("hindsight", "x", 7, "queued")
    assert AuditEntry.objects.get(action="study.asked").partition == "x"
    page = dave.get(ADDRESS).content.decode()
    assert f'hx-get="/studies/{study.pk}/?since={study.version}"' in page
    at = f"/studies/{study.pk}/?since={study.version}"
    assert dave.get(at, headers=PART).status_code == 204
    Study.objects.update(state="running", done=90, total=240, version=7)
    assert "37 % simulated" in dave.get(at, headers=PART).content.decode()
    Study.objects.update(state="queued")
    assert work_all_off() == 1
    part = dave.get(at, headers=PART).content.decode()
    assert "hx-get" not in part, "polling has ended"
    for text in (part, dave.get(ADDRESS).content.decode()):
        assert "With this policy the jobs of P0 would have waited " in text
        assert "The policy is the one in force." in text
        assert "alpha" in text
        assert "style=" not in text
    past.policy(levels=LEVELS, user_overrides={}, enforcement="shadow")
    assert "The policy is not the one in force" in dave.get(f"/studies/{study.pk}/").content.decode()


def test_it_is_told_of_in_the_list_of_studies(past: Sim) -> None:
    browser("ada").post(ADDRESS, {"days": "30"})
    assert "the finished jobs of x" in browser("dave").get("/studies/").content.decode()


def test_a_policy_that_is_typed_is_simulated(past: Sim) -> None:
    dave = browser("dave")
    typed = typed_policy(dave, hindsight="30", mode="task")
    answer = dave.post("/partitions/x/what-if/", typed, headers=ASKED)
    study = answer.context["study"]
    assert "study-now" in answer.content.decode()
    assert study.question["policies"]["x"]["mode"] == "task"
    assert dave.post("/partitions/x/what-if/", typed)["Location"] == f"/studies/{study.pk}/"
    faulty = dave.post("/partitions/x/what-if/", {**typed, "grace_s": "-1"}, headers=ASKED)
    assert faulty.context["faults"]
    assert Study.objects.count() == 1
    work_all_off()
    text = dave.get(f"/studies/{study.pk}/").content.decode()
    assert "The policy is not the one in force" in text


def test_it_belongs_to_the_partition_and_not_to_who_asked(past: Sim) -> None:
    browser("ada").post(ADDRESS, {"days": "30"})
    study = Study.objects.get()
    at = f"/studies/{study.pk}/"
    names = ("dave", "ada", "otto", "eve", "pam", "vera")
    assert [browser(name).get(at).status_code for name in names] == [200, 200, 200, 404, 404, 404]
    assert [browser(name).get(ADDRESS).status_code for name in names] == [200, 200, 200, 404, 404, 404]
    work_all_off()
    files = [client(name).get(f"/api/v1/studies/{study.pk}.csv").status_code for name in names]
    assert files == [200, 200, 200, 404, 404, 404]
    assert [client(name).get("/api/v1/studies/").json()["count"] for name in names] == [1, 1, 1, 0, 0, 0]
    again = browser("dave").post(ADDRESS, {"days": "30"})
    assert again.status_code == 302
    mine = Study.objects.get(state="queued")
    assert browser("eve").post(f"/studies/{mine.pk}/cancel/").status_code == 404
    assert browser("otto").post(f"/studies/{mine.pk}/cancel/").status_code == 403
    Partition.objects.get(name="x").admins.all().delete()
    assert browser("dave").get(f"/studies/{mine.pk}/").status_code == 404, "who asked is no matter"


def test_it_is_linked_from_where_enforcing_is_thought_about(past: Sim) -> None:
    link = f'href="{ADDRESS}"'
    assert link in browser("dave").get("/partitions/x/").content.decode()
    assert link in browser("dave").get("/insights/").content.decode()
    assert link in browser("ada").get("/setup/shadow/").content.decode()
    for page in ("/partitions/x/", "/insights/"):
        assert link not in browser("vera").get(page).content.decode()
    past.policy(levels=LEVELS, user_overrides={"alpha": "P0"}, enforcement="enforce")
    assert link not in browser("dave").get("/partitions/x/").content.decode()


def test_over_the_api_with_one_document_and_a_file(past: Sim) -> None:
    dave = client("dave")
    assert dave.get(API).json() == {"days_known": 3, "study": None}
    made = dave.post(API, {"days": 30}, format="json")
    assert made.status_code == 201
    pk = made.json()["id"]
    assert (made.json()["kind"], made.json()["partition"], made.json()["hindsight"]) == (
        "hindsight",
        "x",
        None,
    )
    assert client("otto").post(API, {"days": 30}, format="json").status_code == 403
    assert client("eve").post(API, {"days": 30}, format="json").status_code == 404
    assert dave.post(API, {"days": 91}, format="json").status_code == 400
    assert dave.get(f"/api/v1/studies/{pk}.csv").status_code == 404
    work_all_off()
    study = dave.get(API).json()["study"]
    doc: dict[str, Any] = study["hindsight"]
    assert (study["id"], study["state"], study["result"]) == (pk, "done", None)
    assert (doc["schema"], doc["levels"][0]["name"], doc["all"]["jobs"]) == ("giveway.hindsight/1", "P0", 24)
    assert doc["sentence"].startswith("With this policy the jobs of P0 ")
    file = dave.get(f"/api/v1/studies/{pk}.csv")
    rows = list(csv.DictReader(file.content.decode("utf-8-sig").splitlines()))
    assert [(row["of"], row["name"]) for row in rows] == [
        ("all", ""), ("level", "P0"), ("level", "P1"), ("project", "alpha"), ("project", "beta"),
    ]  # fmt: skip
    assert float(rows[0]["stops"]) == doc["all"]["stops"]["value"]
    assert float(rows[0]["cpu_hours_lost"]) == pytest.approx(
        doc["all"]["lost_s"]["cpu"]["value"] / 3600, abs=1e-3
    )


def test_another_policy_is_sent_over_the_api(past: Sim) -> None:
    dave = client("dave")
    policy = dave.get("/api/v1/partitions/x/policy/").json()["policy"]
    made = dave.post(API, {"policy": {**policy, "user_overrides": {}}}, format="json")
    assert (made.status_code, made.json()["days"]) == (201, 30)
    work_all_off()
    assert dave.get(API).json()["study"] is None, "it is not about the policy in force"
    doc = dave.get(f"/api/v1/studies/{made.json()['id']}/").json()["hindsight"]
    assert (doc["all"]["stops"]["value"], [each["name"] for each in doc["levels"]]) == (0, ["P1"])
    bad = dave.post(API, {"policy": {**policy, "mode": "by moonlight"}}, format="json")
    assert (bad.status_code, bad.json()["error"]["code"]) == (400, "invalid")
