"""What needs whom, over the API: each kind for each role, the bounds of what is told, nothing when there is nothing."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from rest_framework.test import APIClient
from time_machine import TimeMachineFixture

from console.health.doctor.findings import fail, ok
from console.needs.rows import NeedKind
from console.steering.models import Fate, Incident
from tests import factories, needed
from tests.api.conftest import House

AsPerson = Callable[[str], APIClient]
ADMINISTRATORS = {"ada", "dave"}
ONLY_EVERYWHERE = {"doctor"}
"""Kinds that are about the installation: partition administrators do not see them."""


@pytest.fixture
def calm(house: House) -> House:
    needed.calm(house.cluster)
    return house


def told(client: APIClient) -> list[dict[str, Any]]:
    answer = client.get("/api/v1/needs/")
    assert answer.status_code == 200
    rows: list[dict[str, Any]] = answer.json()["needs"]
    return rows


def kinds(client: APIClient) -> list[str]:
    return [row["kind"] for row in told(client)]


@pytest.mark.parametrize("who", ["vera", "pam", "dave", "otto", "ada"])
def test_nothing_when_there_is_nothing(calm: House, as_person: AsPerson, who: str) -> None:
    assert told(as_person(who)) == []


@pytest.mark.parametrize("kind", needed.MADE)
def test_each_kind_is_told_to_who_acts_on_it_and_to_nobody_else(
    calm: House, as_person: AsPerson, kind: str
) -> None:
    needed.MADE[kind](calm.cluster)
    who = {"ada"} if kind in ONLY_EVERYWHERE else ADMINISTRATORS
    found = {name: kinds(as_person(name)) for name in ("vera", "pam", "dave", "otto", "ada")}
    assert found == {name: [kind] if name in who else [] for name in found}


@pytest.mark.parametrize("kind", [kind for kind in needed.MADE if kind not in ONLY_EVERYWHERE])
def test_a_partition_administrator_is_not_told_of_another_partition(
    calm: House, as_person: AsPerson, kind: str
) -> None:
    make: Any = needed.MADE[kind]
    make(calm.cluster, "y")
    assert kinds(as_person("dave")) == []
    [row] = told(as_person("ada"))
    assert (row["kind"], row["partition"]) == (kind, "y")


@pytest.mark.parametrize("make", [needed.paused, needed.cycle])
def test_what_holds_everywhere_is_for_who_acts_everywhere(
    calm: House, as_person: AsPerson, make: Any
) -> None:
    make(calm.cluster, "")
    assert kinds(as_person("dave")) == []
    assert len(kinds(as_person("ada"))) == 1


def test_a_cluster_that_cannot_be_read_is_for_the_administrator(calm: House, as_person: AsPerson) -> None:
    type(calm.cluster).objects.update(fault="slurmctld does not answer.")
    assert kinds(as_person("dave")) == []
    assert "slurmctld does not answer." in told(as_person("ada"))[0]["text"]


def test_a_worker_that_does_not_run_is_for_the_administrator(
    calm: House, as_person: AsPerson, time_machine: TimeMachineFixture
) -> None:
    time_machine.move_to(timezone.now(), tick=False)  # it is late after seconds
    type(calm.cluster).objects.update(attempted_at=timezone.now())
    assert kinds(as_person("ada")) == []
    type(calm.cluster).objects.update(attempted_at=timezone.now() - timedelta(minutes=5))
    assert kinds(as_person("ada")) == ["cycle"]
    assert kinds(as_person("dave")) == []


def test_a_request_is_an_approval_for_who_decides_and_the_managers_own(
    calm: House, as_person: AsPerson
) -> None:
    asked = needed.asked(calm.cluster)
    needed.asked(calm.cluster, "beta")
    assert [row["url"] for row in told(as_person("pam"))] == [f"/project-requests/{asked.pk}/withdraw/"]
    assert kinds(as_person("pam")) == ["request"]
    assert kinds(as_person("ada")) == ["approval", "approval"]
    assert told(as_person("ada"))[0]["url"] == f"/project-requests/{asked.pk}/"
    # These see all projects, and neither decide nor ask.
    assert kinds(as_person("dave")) == kinds(as_person("otto")) == []


def test_the_most_urgent_comes_first_and_each_row_leads_to_where_it_is_acted_on(
    calm: House, as_person: AsPerson
) -> None:
    for make in reversed(needed.MADE.values()):
        make(calm.cluster)
    needed.doctor(calm.cluster)
    needed.asked(calm.cluster)
    found = told(as_person("ada"))
    order = list(NeedKind)
    places = [order.index(NeedKind(row["kind"])) for row in found]
    assert places == sorted(places) and found[0]["kind"] == "incident"
    browser = factories.make_session(calm.people["ada"])
    client = APIClient()
    client.cookies["sessionid"] = browser
    for row in found:
        assert client.get(row["url"]).status_code == 200, row
        assert row["text"].strip() == row["text"] != ""


def test_a_closed_incident_is_acknowledged(calm: House, ada: APIClient) -> None:
    needed.incident(calm.cluster)
    Incident.objects.update(closed_at=timezone.now(), closed_by="ada")
    assert told(ada) == []


@pytest.mark.parametrize(
    ("fate", "hours", "facts", "is_late"),
    [
        (Fate.OPEN, 1, {}, True),
        (Fate.OPEN, 0, {}, False),
        (Fate.OPEN, 1, {"settled_at": timezone.now()}, False),
        (Fate.WAITING, 20, {}, False),
        (Fate.WAITING, 30, {}, True),
        (Fate.RETURNED, 30, {}, False),
    ],
)
def test_when_a_victim_is_late(
    calm: House, ada: APIClient, fate: str, hours: int, facts: dict[str, Any], is_late: bool
) -> None:
    needed.late(calm.cluster, fate=fate, hours=hours, **facts)
    assert bool(told(ada)) is is_late


def test_a_victim_is_not_late_before_the_deadline_of_its_plan(calm: House, ada: APIClient) -> None:
    needed.late(calm.cluster)
    calm.cluster.plans.update(deadline=timezone.now() + timedelta(minutes=5))
    assert told(ada) == []


def test_an_undone_plan_is_history_after_a_day_or_after_a_later_plan(calm: House, ada: APIClient) -> None:
    needed.undone(calm.cluster, hours=25)
    assert told(ada) == []
    plan = needed.undone(calm.cluster, state="failed")
    assert told(ada)[0]["url"] == f"/plans/{plan.pk}/"
    needed.approval(calm.cluster, "y", plan.job_id)
    assert [row["kind"] for row in told(ada)] == ["approval", "undone"], "of another partition"
    needed.approval(calm.cluster, "x", plan.job_id)
    assert [row["kind"] for row in told(ada)] == ["approval", "approval"]


def test_a_hold_that_was_lifted_needs_nobody(calm: House, ada: APIClient) -> None:
    needed.undone(calm.cluster, kind="quota")
    assert told(ada) == []


def test_tasks_of_one_array_are_one_approval(calm: House, ada: APIClient) -> None:
    for task in range(3):
        needed.approval(calm.cluster, "x", f"41_{task}")
    assert len(told(ada)) == 1


def test_few_jobs_or_half_of_them_without_a_level_need_nobody(calm: House, ada: APIClient) -> None:
    needed.unconfigured(calm.cluster, "y", 8)
    assert told(ada) == []
    needed.unconfigured(calm.cluster, "x", 9)
    for i in range(9):
        factories.make_job(calm.cluster, str(800 + i), user_level=0)
    assert "unconfigured" in kinds(ada)
    for i in range(20):
        factories.make_job(calm.cluster, str(900 + i), user_level=0)
    assert told(ada) == []


def test_the_doctor_repeats_nothing(calm: House, ada: APIClient) -> None:
    needed.doctor(
        calm.cluster,
        ok("incidents", "doctor.incidents.none"),
        fail("incidents", "doctor.incidents.open", n=2, names="88"),
        fail("worker", "doctor.worker.never"),
    )
    assert [row["text"] for row in told(ada)] == ["No cycle has ever run."]


def test_nodes_of_one_reason_are_one_row(calm: House, ada: APIClient) -> None:
    for name in ("a1", "a2"):
        factories.make_node(calm.cluster, name, up=False, state="DOWN", state_reason="power")
    assert [row["text"] for row in told(ada)] == ["power: a1 and a2 take no jobs (down)."]


def test_it_asks_few_queries_however_much_there_is(calm: House, as_person: AsPerson) -> None:
    def asks() -> int:
        client = as_person("ada")
        with CaptureQueriesContext(connection) as queries:
            told(client)
        return len(queries)

    for make in needed.MADE.values():
        make(calm.cluster)
    asks()  # the first one keeps when the token was used
    before = asks()
    for i in range(20):
        factories.make_partition(calm.cluster, f"p{i}")
        needed.approval(calm.cluster, f"p{i}", str(1000 + i))
        needed.undone(calm.cluster, f"p{i}", str(2000 + i))
        needed.late(calm.cluster, f"p{i}")
    assert asks() == before <= 14


def test_only_signed_in_people_are_told(house: House, as_person: AsPerson) -> None:
    assert as_person("anonymous").get("/api/v1/needs/").status_code == 401
