"""POST /api/v1/what-if/: the same answers as on the pages, to whoever may make the change."""

from typing import Any

import pytest
from drf_spectacular.generators import SchemaGenerator
from jsonschema import Draft202012Validator  # type: ignore[import-untyped]
from rest_framework.test import APIClient

from console.accounts.models import User
from console.partitions.models import Partition, PolicyRevision
from console.partitions.selectors import policy_of
from console.projects.models import Project
from console.projects.services import ProjectData, create_project
from scheduler.contracts.config import encode_policy
from tests import factories
from tests.steering.conftest import Sim

AT = "/api/v1/what-if/"
LEVELS = [{"name": "P0", "min_score": 50}, {"name": "P1", "min_score": 1}]
URGENT = {"code": "alpha", "size": 10, "grade": 1, "urgency": 9, "members": ["alpha"]}


@pytest.fixture
def people(sim: Sim) -> Sim:
    """Alpha's job waits, beta's runs, both at P1; pam manages alpha, dave administers x."""
    sim.policy(levels=LEVELS, user_overrides={}, enforcement="approve")
    for code in ("alpha", "beta"):
        data = ProjectData(
            code, code, 10, 1, 1, members=(code,), managers=("pam",) if code == "alpha" else ()
        )
        create_project(actor="ada", cluster=sim.cluster, data=data, reason="Test.")
    factories.make_partition_admin(Partition.objects.get(name="x"), "dave")
    for name in ("pam", "dave", "vera"):
        factories.make_viewer(name)
    factories.make_administrator("ada")
    sim.running("beta", 8, run_time_s=10**6)
    sim.submit("alpha", 6)
    for _ in range(3):
        sim.cycle()
        sim.port.advance(300)
    return sim


def ask(name: str, **body: Any) -> Any:
    client = APIClient()
    client.force_authenticate(User.objects.get(username=name))
    return client.post(AT, body, format="json")


def policy(**keys: Any) -> dict[str, Any]:
    row = Partition.objects.select_related("revision").get(name="x")
    return {**encode_policy(policy_of(row)), **keys}


def test_a_managers_script_asks_about_an_urgency(people: Sim) -> None:
    answer = ask("pam", projects=[URGENT])
    assert answer.status_code == 200, answer.data
    found = answer.json()
    assert (found["jobs"], found["left"], found["past"]) == (2, [], None)
    [x] = [each for each in found["partitions"] if each["partition"] == "x"]
    assert [stop["victim"]["user"] for stop in x["stopped"]] == ["beta"]
    assert x["stopped"][0]["beneficiary"]["user_level"] == {"rank": 0, "name": "P0"}
    assert [start["job"]["user"] for start in x["started"]] == ["alpha"]
    assert [(move["who"], move["before"]["name"], move["after"]["name"]) for move in x["users"]] == [
        ("alpha", "P1", "P0")
    ]
    assert x["sentences"][0].startswith("Stops 1 more job (of beta)")
    assert x["work_lost"]["cpu_hours"] > 0
    assert Project.objects.get(code="alpha").urgency == 1


def test_a_policy_and_the_last_days(people: Sim) -> None:
    answer = ask("dave", partitions=[policy(user_overrides={"alpha": "P0"})], days=7)
    past = answer.json()["past"]
    assert (past["partitions"], past["used"], past["looks"]) == (["x"], 3, 3)
    assert (past["present"]["stops"], past["changed"]["stops"], past["done"]["stops"]) == (0, 1, 0)
    assert past["present"]["waited"] == [{"level": {"rank": 1, "name": "P1"}, "hours": round(600 / 3600, 4)}]
    assert [day["changed"]["jobs"] for day in past["days"]] == [1]
    assert PolicyRevision.objects.filter(partition__name="x").count() == 2


def test_the_answer_is_as_described(people: Sim) -> None:
    document: dict[str, Any] = SchemaGenerator().get_schema(request=None, public=True)
    described = document["paths"][AT]["post"]["responses"]["200"]["content"]["application/json"]["schema"]
    body = {"projects": [URGENT], "partitions": [policy(protected_users=["cy"])], "days": 7}
    Draft202012Validator({**described, "components": document["components"]}).validate(
        ask("ada", **body).json()
    )


@pytest.mark.parametrize(
    ("name", "body", "status"),
    [
        ("pam", {"projects": [URGENT]}, 200),
        # A manager may propose a project: a code that is another's is tried beside it, so that codes cannot be guessed.
        ("pam", {"projects": [{**URGENT, "code": "beta"}]}, 200),
        ("pam", {"projects": [{**URGENT, "code": "nothing-of-that-name"}]}, 200),
        ("dave", {"projects": [URGENT]}, 403),
        ("vera", {"projects": [URGENT]}, 403),
        ("ada", {"projects": [{**URGENT, "code": "new"}]}, 200),
        ("dave", {"partitions": [{"name": "x"}]}, 200),
        ("dave", {"partitions": [{"name": "q"}]}, 404),
        ("ada", {"partitions": [{"name": "nowhere"}]}, 404),
        ("dave", {"partitions": [{"name": "x"}], "projects": [URGENT]}, 403),
        ("vera", {}, 200),
    ],
)
def test_who_may_change_it_may_ask(people: Sim, name: str, body: dict[str, Any], status: int) -> None:
    assert ask(name, **body).status_code == status


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"projects": [{**URGENT, "urgency": 0}]}, "projects[0].urgency"),
        ({"projects": [{**URGENT, "surprise": 0}]}, "projects[0].surprise"),
        ({"partitions": [{"name": "x", "quotas": {"P9": 1}}]}, "partitions[0].quotas.P9"),
        ({"partitions": [{"name": "x", "exempt_s": 10**12}]}, "partitions[0].exempt_s"),
        ({"days": 99}, "days"),
    ],
)
def test_a_fault_names_its_place(people: Sim, body: dict[str, Any], field: str) -> None:
    answer = ask("ada", **body)
    assert answer.status_code == 400
    assert list(answer.json()["error"]["fields"]) == [field]


def test_without_facts_it_is_not_the_time_to_ask(sim: Sim) -> None:
    sim.policy()
    factories.make_administrator("ada")
    answer = ask("ada", partitions=[{"name": "x"}])
    assert (answer.status_code, answer.json()["error"]["code"]) == (409, "not_now")
