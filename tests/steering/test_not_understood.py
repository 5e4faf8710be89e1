"""A job of which not everything is understood: shown with the words, never stopped, and its looks prove nothing."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from pytest_django import Settings

from console.health import metrics
from console.health.doctor.findings import Level
from console.health.doctor.job_requests import check_requests
from scheduler.model.actions import ActionKind
from scheduler.model.jobs import JobState
from scheduler.model.observation import Observation
from tests import factories
from tests.steering.conftest import Sim

WORDS = "its share of n2 is not told"


@pytest.fixture
def garble(sim: Sim, monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Have one job seen otherwise; called with no fields it is seen as it is again."""
    real = sim.port.observe
    changes: dict[str, dict[str, Any]] = {}

    def observe(*, quick: bool = False) -> Observation:
        seen = real()
        return replace(seen, jobs=tuple(replace(job, **changes.get(job.id, {})) for job in seen.jobs))

    monkeypatch.setattr(sim.port, "observe", observe)
    return lambda job, **fields: changes.update({job: fields})


def test_it_is_shown_and_another_is_stopped(sim: Sim, garble: Callable[..., None]) -> None:
    sim.policy()
    grown, plain = sim.running("ann", 4), sim.running("ann", 4)
    garble(grown, not_understood=WORDS)
    urgent = sim.submit("cy", 4)

    sim.cycles(5)

    assert sim.state(urgent) is JobState.RUNNING
    assert (sim.port.job(grown).restarts, sim.port.job(plain).restarts) == (0, 1)
    assert sim.row(grown).protected == f"not everything that Slurm tells of it is understood: {WORDS}"
    assert sim.cluster.fault == ""


def test_a_pending_one_is_shown_with_its_words_and_gets_no_room(
    sim: Sim, garble: Callable[..., None]
) -> None:
    sim.policy()
    low, urgent = sim.running("ann", 8), sim.submit("cy", 4)
    garble(urgent, unplannable="its CoreSpec is not told", request=None)

    sim.cycles(3)

    assert sim.port.job(low).restarts == 0
    assert "its CoreSpec is not told" in sim.row(urgent).explain


def test_a_stop_is_not_taken_for_seen_because_the_row_is_garbled(
    sim: Sim, garble: Callable[..., None]
) -> None:
    sim.policy()
    low = sim.running("ann", 8, completing_s=4)
    sim.submit("cy", 4)
    sim.cycle()
    garble(low, start=None, not_understood="it runs but has no start time")
    sim.cycles(2)
    assert sim.actions(ActionKind.REQUEUE_HOLD)[0].state == "issued"

    garble(low)
    sim.cycles(12)

    assert sim.plan().state == "verified"
    assert sim.port.job(low).restarts == 1


def test_its_page_and_the_api_say_what_was_not_understood_in_both_languages(
    sim: Sim, garble: Callable[..., None], client: Client
) -> None:
    sim.policy()
    grown, odd = sim.running("ann", 4), sim.submit("cy", 8)
    garble(grown, not_understood=WORDS)
    garble(odd, unplannable="its CoreSpec is not told", request=None)
    sim.cycle()
    client.force_login(factories.make_administrator(), backend="console.accounts.backends.PasswordBackend")

    def page(job: str, language: str) -> str:
        return client.get(reverse("job", args=[job]), headers={"accept-language": language}).content.decode()

    assert WORDS in page(grown, "en")
    assert "它在 n2 上占用的份额未知" in page(grown, "zh-hans")
    assert "its CoreSpec is not told" in page(odd, "en")
    assert "它的 CoreSpec 未给出" in page(odd, "zh-hans")
    assert WORDS in client.get(reverse("api-jobs-detail", args=[grown])).content.decode()
    assert "its CoreSpec is not told" in client.get(reverse("api-jobs-detail", args=[odd])).content.decode()


def test_the_doctor_and_a_metric_say_which_words_of_requests_block_and_how_many_jobs(
    sim: Sim, garble: Callable[..., None], settings: Settings
) -> None:
    settings.GIVEWAY_CLUSTER_NAME = sim.cluster.name
    sim.policy()
    sim.running("ann", 8)
    assert [finding.level for finding in check_requests()] == [Level.OK]
    near, both, plain = (sim.submit("cy", 4) for _ in range(3))
    garble(near, unplannable="it asks for neighbouring nodes (Contiguous=1)")
    garble(both, unplannable="it asks for neighbours (Contiguous=1); it asks for a buffer (BurstBuffer=x)")
    garble(plain, unplannable="it is a part of a heterogeneous job")
    sim.cycle()

    lines = metrics.text().decode().splitlines()
    found = {(finding.level, str(finding.what)) for finding in check_requests()}

    for word, count in {"Contiguous": 2, "BurstBuffer": 1, "other": 1}.items():
        assert f'giveway_requests_blocked{{cluster="{sim.cluster.name}",word="{word}"}} {count}.0' in lines
    assert {level for level, _ in found} == {Level.WARN}
    assert any("2 jobs" in text and "Contiguous" in text for _, text in found)
