"""Studies: long questions about the last days, put to a worker, worked off once, and never under way for ever."""

from datetime import timedelta
from typing import Any

import pytest
from django.conf import settings
from django.core.management import call_command
from rest_framework.test import APIClient

from console.accounts.models import User
from console.audit.models import AuditEntry
from console.core import background_process
from console.history import past, studies, studying, tasks
from console.history.answering import decode_past, encode_past
from console.history.housekeeping import forget_old_record
from console.history.models import RecordedObservation, Study
from console.history.past import over_days
from console.history.recording import unpacked
from console.history.studies import change_of
from console.history.studying import LOST, MOST_TRIES, SILENT, due, work_all_off, work_off
from tests.history.test_pages import ASKED, LEVELS, browser, people, typed_policy, typed_project
from tests.history.test_past import record
from tests.steering.conftest import Sim

__all__ = ["people"]
ADDRESS = "/projects/alpha/what-if/"
PART = {"HX-Request": "true", "HX-Target": "study-now"}


@pytest.fixture
def long(people: Sim, monkeypatch: pytest.MonkeyPatch) -> Sim:
    """Six recorded looks, which are more than somebody waits for."""
    people.policy(levels=LEVELS, user_overrides={}, enforcement="shadow")
    record(people, 6)
    monkeypatch.setattr(past, "LEAST_LOOKS", 6)
    monkeypatch.setattr(studies, "AT_ONCE", studies.EACH_LOOK * 3)
    return people


def asked(name: str = "pam", **keys: Any) -> Study:
    answer = browser(name).post(ADDRESS, typed_project(days="7", **keys), headers=ASKED)
    assert answer.status_code == 200
    study: Study = answer.context["study"]
    return study


def test_a_long_question_is_put_to_the_worker_and_its_page_follows_it(long: Sim) -> None:
    pam = browser("pam")
    panel = pam.post(ADDRESS, typed_project(days="7"), headers=ASKED).content.decode()
    study = Study.objects.get()
    assert (study.state, study.asked_by, study.days) == ("queued", "pam", 7)
    assert f'hx-get="/studies/{study.pk}/?since={study.version}"' in panel
    assert "really stopped" not in panel.lower()
    assert pam.post(ADDRESS, typed_project(days="7"))["Location"] == f"/studies/{study.pk}/"
    assert Study.objects.count() == 1, "the same question is not put twice"

    at = f"/studies/{study.pk}/?since={study.version}"
    assert pam.get(at, headers=PART).status_code == 204
    sent: list[int] = []
    assert (due(sent.append), due(sent.append), sent) == (1, 0, [study.pk])
    assert work_off(study.pk)
    assert not work_off(study.pk), "a message that comes twice does nothing"
    part = pam.get(at, headers=PART)
    text = part.content.decode()
    assert part.status_code == 200
    assert "hx-get" not in text, "polling has ended"
    assert "<html" not in text
    assert text.count("<svg width=") == 2 + 4
    whole = pam.get(f"/studies/{study.pk}/").content.decode()
    assert "the project alpha" in whole
    assert "style=" not in whole

    study.refresh_from_db()
    assert study.result is not None
    direct = over_days(study.cluster, change_of(study), 7)
    assert decode_past(study.result) == direct
    assert direct.total.changed.stops == 1
    assert (study.state, study.done, study.total) == ("done", 5, 6)
    assert AuditEntry.objects.get(action="study.asked").project == "alpha"


def test_a_short_question_is_answered_at_once(long: Sim, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(studies, "AT_ONCE", 20_000)
    answer = browser("pam").post(ADDRESS, typed_project(days="7"), headers=ASKED)
    assert answer.context["past"].used == 6
    assert not Study.objects.exists()


def test_whose_it_is_sees_and_cancels_it(long: Sim) -> None:
    pk = asked().pk
    seen = {name: browser(name).get(f"/studies/{pk}/").status_code for name in ("pam", "dave", "vera", "ada")}
    assert seen == {"pam": 200, "dave": 404, "vera": 404, "ada": 200}
    listed = {
        name: browser(name).get("/studies/").context["page"].paginator.count
        for name in ("pam", "dave", "ada")
    }
    assert listed == {"pam": 1, "dave": 0, "ada": 1}
    assert browser("dave").post(f"/studies/{pk}/cancel/").status_code == 404
    assert browser("pam").post(f"/studies/{pk}/cancel/")["Location"] == f"/studies/{pk}/"
    assert browser("pam").post(f"/studies/{pk}/cancel/", headers=PART).status_code == 200
    assert Study.objects.get().state == "cancelled"
    assert not work_off(pk)
    assert AuditEntry.objects.filter(action="study.cancelled").count() == 1


def test_cancelling_ends_the_work_at_the_next_look(long: Sim, monkeypatch: pytest.MonkeyPatch) -> None:
    study = asked()
    taken: list[int] = []
    whole = RecordedObservation.objects.count()

    def unpack(body: bytes) -> Any:
        taken.append(1)
        if len(taken) == 3:
            studies.cancel(actor="pam", study=Study.objects.get(pk=study.pk))
        return unpacked(body)

    monkeypatch.setattr("console.history.past.unpacked", unpack)
    assert work_off(study.pk)
    study.refresh_from_db()
    assert (study.state, study.result) == ("cancelled", None)
    assert len(taken) == 3 < whole


def test_nobody_has_many_open(long: Sim) -> None:
    for urgency in (7, 8, 9):
        asked(urgency=str(urgency))
    answer = browser("pam").post(ADDRESS, typed_project(days="7", urgency="6"), headers=ASKED)
    assert (
        "You have 3 studies that are not done, at most 3: wait for one, or cancel one."
        in answer.content.decode()
    )
    assert (
        browser("ada").post(ADDRESS, typed_project(days="7"), headers=ASKED).context["study"].asked_by
        == "ada"
    )


@pytest.fixture
def claimed(long: Sim) -> Study:
    """A study whose worker has been killed with it in its hands."""
    study = asked()
    studying._claim(study.pk, "dead")
    study.refresh_from_db()
    return study


def test_what_a_dead_worker_held_is_taken_up_anew(claimed: Study, long: Sim) -> None:
    sent: list[int] = []
    assert due(sent.append) == 0, "it may be alive"
    long.port.advance(int(SILENT.total_seconds()) + 1)
    assert due(sent.append) == 1
    assert work_off(claimed.pk)
    claimed.refresh_from_db()
    assert (claimed.state, claimed.tries) == ("done", 2)
    with pytest.raises(studying.LostError):  # it was only slow, and comes back
        studying._keep(claimed.pk, "dead", done=1)


def test_what_kills_its_worker_again_and_again_is_given_up(claimed: Study, long: Sim) -> None:
    for _ in range(MOST_TRIES):
        long.port.advance(int(SILENT.total_seconds()) + 1)
        due(lambda pk: None)
        studying._claim(claimed.pk, "dead")
    claimed.refresh_from_db()
    assert (claimed.state, claimed.fault) == ("failed", LOST)
    assert LOST.split(";")[0] in browser("pam").get(f"/studies/{claimed.pk}/").content.decode()


def test_an_error_ends_it_in_words(long: Sim, monkeypatch: pytest.MonkeyPatch) -> None:
    study = asked()

    def broken(*_: Any, **__: Any) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(studying, "over_days", broken)
    with pytest.raises(ZeroDivisionError):
        work_off(study.pk)
    study.refresh_from_db()
    assert (study.state, study.fault) == ("failed", studying.BROKEN)
    RecordedObservation.objects.all().delete()
    monkeypatch.undo()
    again = studies.ask(actor="pam", cluster=long.cluster, change=change_of(study), days=7)
    work_off(again.pk)
    again.refresh_from_db()
    assert again.fault.startswith("Too little is recorded yet.")


def test_the_embedded_worker_has_a_process_study(long: Sim, monkeypatch: pytest.MonkeyPatch) -> None:
    """The worker that steers is not kept: a process, one at a time, works all off."""
    first, second = asked(), asked(urgency="8")
    started: list[list[str]] = []

    class Process:
        def __init__(self, command: list[str], **_: Any) -> None:
            started.append(command)

        def poll(self) -> None:
            return None

    monkeypatch.setattr(background_process, "Popen", Process)
    monkeypatch.setattr(background_process, "_processes", [])
    for study in (first, second):
        tasks.study(study.pk)
    assert [command[2] for command in started] == ["study"]
    assert Study.objects.filter(state="queued").count() == 2
    monkeypatch.setattr("os.nice", lambda by: by)
    call_command("study")
    assert set(Study.objects.values_list("state", flat=True)) == {"done"}

    monkeypatch.setattr(settings, "REDIS_URL", "redis://nowhere")
    third = asked(urgency="7")
    tasks.study(third.pk)
    third.refresh_from_db()
    assert third.state == "done"


def test_old_studies_are_forgotten_open_ones_are_not(long: Sim) -> None:
    kept, gone = asked(), asked(urgency="8")
    studies.cancel(actor="pam", study=gone)
    Study.objects.update(asked_at=long.cluster.observed_at or gone.asked_at)
    Study.objects.update(asked_at=gone.asked_at - timedelta(days=31))
    forget_old_record()
    assert list(Study.objects.all()) == [kept]


def test_a_policy_is_studied_over_the_api_with_the_same_rights(long: Sim) -> None:
    def client(name: str) -> APIClient:
        made = APIClient()
        made.force_authenticate(User.objects.get(username=name))
        return made

    dave = client("dave")
    policy = dave.get("/api/v1/partitions/x/policy/").json()["policy"]
    body = {"partitions": [{**policy, "user_overrides": {"alpha": "P0"}}], "days": 7}
    assert client("vera").post("/api/v1/studies/", body, format="json").status_code == 404
    assert client("pam").post("/api/v1/studies/", body, format="json").status_code == 404
    assert dave.post("/api/v1/what-if/", body, format="json").json()["error"]["code"] == "takes_too_long"
    made = dave.post("/api/v1/studies/", body, format="json")
    assert made.status_code == 201
    at = f"/api/v1/studies/{made.json()['id']}/"
    assert (made.json()["state"], made.json()["partitions"], made.json()["result"]) == ("queued", ["x"], None)
    assert work_all_off() == 1
    found = dave.get(at).json()
    assert (found["state"], found["result"]["changed"]["stops"], found["result"]["present"]["stops"]) == (
        "done",
        1,
        0,
    )
    assert dave.get("/api/v1/studies/?state=done").json()["count"] == 1
    assert client("pam").get(at).status_code == 404
    assert client("pam").get("/api/v1/studies/").json()["count"] == 0
    assert dave.post(f"{at}cancel/").json()["state"] == "done"
    assert client("pam").post(f"{at}cancel/").status_code == 404

    typed = typed_policy(browser("dave"), days="7")
    page = browser("dave").post("/partitions/x/what-if/", typed, headers=ASKED)
    work_all_off()
    same = Study.objects.get(pk=page.context["study"].pk)
    assert same.result is not None
    assert (same.question, decode_past(same.result).partitions) == ({"policies": {}, "projects": {}}, ())
    assert encode_past(decode_past(same.result)) == same.result
