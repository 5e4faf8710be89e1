"""What the last month would have been: finished jobs, simulated without Giveway and with a partition's policy."""

from datetime import timedelta
from typing import Any

import pytest
from django.utils import translation

from console.core import clock
from console.forecasts.models import KeptRun
from console.history import studies, studying
from console.history.hindsight import figures, running
from console.history.hindsight.asking import ask_hindsight, days_known, kept_for, spans_for
from console.history.hindsight.running import (
    EMPTY,
    RUNS,
    TOO_LARGE,
    TOO_LONG,
    PartitionNodes,
    hindsight,
    nodes_of,
)
from console.history.hindsight.wording import told_of, urgent
from console.history.models import PartitionMinute, Study
from console.history.studying import LOST, MOST_TRIES, SILENT, due, work_off
from console.history.what_if import NotNowError
from console.partitions.models import Partition
from console.partitions.selectors import policy_of
from scheduler.simulate.replay import replay as simulated_whole
from tests.history.past_jobs import HOUR, finished, two_days
from tests.history.test_pages import LEVELS, browser, people
from tests.steering.conftest import Sim

__all__ = ["people"]


@pytest.fixture
def past(people: Sim) -> Sim:
    """Alpha is P0 and beta P1; x has been in shadow."""
    people.policy(levels=LEVELS, user_overrides={"alpha": "P0"}, enforcement="shadow")
    two_days(people.cluster)
    return people


def x() -> Partition:
    return Partition.objects.select_related("cluster", "revision").get(name="x")


def simulated(sim: Sim, **keys: Any) -> dict[str, Any]:
    told: list[tuple[int, int]] = []
    keys = {"budget_s": 60.0, "tell": lambda *far: told.append(far), **keys}
    return hindsight(sim.cluster, policy_of(x()), 30, **keys)


def asked(name: str = "dave", days: int = 30) -> Study:
    return ask_hindsight(actor=name, partition=x(), policy=policy_of(x()), days=days)


def test_urgent_jobs_would_not_have_waited_and_the_first_sentence_says_so(past: Sim) -> None:
    doc = simulated(past)
    assert (doc["schema"], doc["runs"], doc["all"]["jobs"]) == ("giveway.hindsight/1", RUNS, 24)
    high, low = doc["levels"]
    assert [(each["name"], each["rank"], each["jobs"]) for each in doc["levels"]] == [
        ("P0", 0, 12),
        ("P1", 1, 12),
    ]
    assert high["recorded"]["mean_s"] == 1.5 * HOUR
    assert high["without"]["mean_s"]["value"] == 1.5 * HOUR, (
        "as it really was: nothing else held these jobs up"
    )
    assert high["with_policy"]["mean_s"]["value"] <= 60, "the planner is asked once a minute"
    assert low["with_policy"]["mean_s"]["value"] > low["without"]["mean_s"]["value"] == 0
    assert doc["all"]["stops"]["value"] == low["stops"]["value"] == 12
    # Half an hour of 8 CPUs at each stop, and up to a minute until the planner is asked.
    assert 12 * 8 * HOUR / 2 <= doc["all"]["lost_s"]["cpu"]["value"] <= 12 * 8 * (HOUR / 2 + 60)
    assert [(each["project"], each["stops"]["value"]) for each in doc["projects"]] == [
        ("alpha", 0),
        ("beta", 12),
    ]
    told = told_of(doc)
    assert told.sentence.startswith("With this policy the jobs of P0 would have waited ")
    assert "on average instead of 1 h 30 min; 12 stops, 4" in told.sentence
    assert told.paid.startswith("For that the jobs of P1 would have waited ")
    assert told.paid.endswith(" on average instead of 0 s.")
    assert told.sentence.endswith("CPU-hours lost.")
    assert (
        "Really all jobs waited 45 min on average; the simulation without Giveway says 45 min." in told.beside
    )


def test_other_submissions_give_a_range_around_the_value_and_the_same_one_each_time(past: Sim) -> None:
    doc = simulated(past)
    lost = doc["all"]["lost_s"]["cpu"]
    assert lost["low"] <= lost["value"] <= lost["high"]
    assert lost["low"] < lost["high"]
    wait = doc["levels"][0]["without"]["mean_s"]
    assert wait["low"] < wait["high"]
    assert simulated(past) == {**doc, "until": simulated(past)["until"]}


def test_a_policy_without_levels_stops_nobody_and_says_so(past: Sim) -> None:
    past.policy(levels=[], user_overrides={})
    doc = simulated(past)
    assert [each["name"] for each in doc["levels"]] == ["unconfigured"]
    assert urgent(doc) == doc["all"]
    assert told_of(doc).paid == ""
    assert told_of(doc).sentence == (
        "With this policy all jobs would have waited 45 min on average, as without Giveway; nobody would have been"
        " stopped."
    )


def test_who_is_protected_is_not_stopped(past: Sim) -> None:
    past.policy(levels=LEVELS, user_overrides={"alpha": "P0"}, protected_users=["beta"])
    assert simulated(past)["all"]["stops"]["high"] == 0


def test_jobs_larger_than_the_partition_are_left_out_and_named(past: Sim) -> None:
    finished(past.cluster, 7000, "beta", ago=20 * HOUR, waited=0, ran=HOUR, nodes=4, cpus=32)
    finished(past.cluster, 7001, "beta", ago=20 * HOUR, waited=0, ran=HOUR, cpus=9)
    finished(past.cluster, 7002, "beta", ago=20 * HOUR, waited=0, ran=HOUR, cpus=0)
    doc = simulated(past)
    assert doc["all"]["jobs"] == 24
    assert (doc["left_out"]["too_large"], doc["left_out"]["asks_nothing"]) == (2, 1)
    assert doc["left_out"]["largest"][0] == {"job": "7000", "nodes": 4, "cpu": 32, "gpu": 0}
    assert (
        "2 jobs are left out because they are larger than the partition is today; the largest, 7000, had 4 nodes with"
        " 32 cpu." in told_of(doc).assumed
    )
    KeptRun.objects.exclude(job_id__in=["7000", "7001"]).delete()
    with pytest.raises(NotNowError, match=TOO_LARGE.split(":")[0]):
        simulated(past)


def test_an_empty_history_is_no_study(past: Sim) -> None:
    KeptRun.objects.all().delete()
    study = asked()
    assert work_off(study.pk)
    study.refresh_from_db()
    assert (study.state, study.fault) == ("failed", EMPTY)
    page = browser("dave").get(f"/studies/{study.pk}/").content.decode()
    assert "No finished job of this partition is known in that time." in page
    empty = browser("dave").get("/partitions/x/hindsight/").content.decode()
    assert "No finished job of this partition is known yet." in empty
    assert 'name="days"' not in empty


def test_what_ran_at_the_beginning_holds_room_and_does_not_count(past: Sim) -> None:
    finished(past.cluster, 6000, "beta", ago=31 * 24 * HOUR, waited=0, ran=24 * HOUR + 2 * HOUR)
    finished(past.cluster, 6001, "alpha", ago=30 * 24 * HOUR - 60, waited=0, ran=60)
    doc = simulated(past)
    assert doc["all"]["jobs"] == 25
    waited = doc["levels"][0]["without"]["mean_s"]["value"] * 13 - 12 * 1.5 * HOUR
    assert waited == pytest.approx(2 * HOUR - 60, abs=10)
    assert doc["all"]["stops"]["value"] == 13, "it can be stopped all the same"


def test_the_newest_jobs_are_simulated_when_there_are_too_many(
    past: Sim, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(figures, "MOST_JOBS", 8)
    doc = simulated(past)
    assert doc["cut"]
    assert doc["all"]["jobs"] < 8
    assert "There were more jobs than are simulated at once: only the newest count." in told_of(doc).assumed


def test_time_ends_the_runs_and_the_first_must_be_done(past: Sim, monkeypatch: pytest.MonkeyPatch) -> None:
    doc = simulated(past, budget_s=0.0)
    assert doc["runs"] == 1
    assert "one run only" in told_of(doc).ranges
    monkeypatch.setattr(running, "TELL_S", 0.0)
    with pytest.raises(NotNowError, match=TOO_LONG.split(":")[0]):
        simulated(past, budget_s=0.0)


def test_nodes_of_several_kinds_count_as_so_many_equal_ones(past: Sim) -> None:
    node = past.cluster.nodes.filter(partitions__icontains='"x"').first()
    assert node is not None
    node.pk, node.name, node.total = None, "bigger", {"cpu": 20, "gpu": 16}
    node.save()
    nodes = past_nodes(past)
    assert nodes is not None
    machines = nodes.machines
    assert (machines.nodes, dict(machines.per_node), nodes.alike) == (1, {"cpu": 20, "gpu": 16}, False)
    past.cluster.nodes.all().delete()
    assert past_nodes(past) is None


def past_nodes(sim: Sim) -> PartitionNodes | None:
    """Of the last hour."""
    until = int(clock.now().timestamp())
    return nodes_of(sim.cluster, "x", until - HOUR, until)


def test_no_more_nodes_count_than_were_usually_up(past: Sim) -> None:
    """A node that is drained for long takes no job in a simulation either; one that was for minutes does."""
    node = past.cluster.nodes.filter(partitions__icontains='"x"').first()
    assert node is not None
    for number in range(3):
        node.pk, node.name = None, f"more{number}"
        node.save()
    PartitionMinute.objects.all().delete()
    whole = past_nodes(past)
    assert whole is not None
    has = whole.has
    assert has >= 4
    assert whole.machines.nodes == has, "nothing is recorded: all count"

    each = node.total["cpu"]
    for minute, up in enumerate((has, has - 1, has - 1)):
        at = clock.now() - timedelta(minutes=10 - minute)
        PartitionMinute.objects.create(
            cluster=past.cluster, partition="x", at=at, total={**node.total, "cpu": each * up, "gpu": 8 * up}
        )
    drained = past_nodes(past)
    assert drained is not None
    assert (drained.machines.nodes, drained.has) == (has - 1, has)
    doc = simulated(past)
    assert (doc["nodes"]["count"], doc["nodes"]["has"]) == (has - 1, has)
    assert f"It has {has}; no more were up in half of the recorded minutes." in told_of(doc).assumed


def test_a_worker_killed_in_the_middle_leaves_no_study_that_runs_for_ever(past: Sim) -> None:
    study = asked()
    for _ in range(MOST_TRIES):
        assert studying._claim(study.pk, "dead")
        past.port.advance(int(SILENT.total_seconds()) + 1)
        due(lambda pk: None)
    study.refresh_from_db()
    assert (study.state, study.fault) == ("failed", LOST)
    text = browser("dave").get("/partitions/x/hindsight/").content.decode()
    assert LOST.split(";")[0] in text
    assert 'hx-get="/studies/' not in text, "polling has ended"
    assert "Simulate the last 7 days" in text


def test_a_worker_killed_once_is_replaced(past: Sim) -> None:
    study = asked()
    studying._claim(study.pk, "dead")
    past.port.advance(int(SILENT.total_seconds()) + 1)
    assert due(lambda pk: None) == 1
    assert work_off(study.pk)
    study.refresh_from_db()
    assert (study.state, study.tries) == ("done", 2)
    assert study.result is not None
    assert study.result["all"]["jobs"] == 24


def test_cancelling_ends_the_simulation(past: Sim, monkeypatch: pytest.MonkeyPatch) -> None:
    study = asked()
    monkeypatch.setattr(running, "TELL_S", 0.0)
    seen: list[str] = []

    def replay(workload: Any, policy: Any, watch: Any) -> Any:
        seen.append(policy.name)
        if len(seen) == 2:
            studies.cancel(actor="dave", study=Study.objects.get(pk=study.pk))
        return simulated_whole(workload, policy, watch)

    monkeypatch.setattr(running, "replay", replay)
    assert work_off(study.pk)
    study.refresh_from_db()
    assert (study.state, study.result) == ("cancelled", None)
    assert seen == ["without", "with"]
    assert 0 < study.done < study.total == 2 * RUNS * 24


def test_one_answer_is_kept_for_each_policy_and_time(past: Sim) -> None:
    first = asked()
    assert asked("ada").pk == first.pk, "the same question is not put twice, whoever puts it"
    assert asked(days=7).pk != first.pk
    work_off(first.pk)
    again = asked("ada")
    work_off(again.pk)
    assert not Study.objects.filter(pk=first.pk).exists()
    kept = kept_for(x())
    assert kept.shown is not None
    assert (kept.shown.days, kept.shown.state) == (7, "queued"), "an open one first"
    work_off(kept.shown.pk)
    assert Study.objects.filter(state="done").count() == 2
    past.policy(levels=LEVELS, user_overrides={"beta": "P0"}, enforcement="shadow")
    other = kept_for(x())
    assert (other.shown, other.in_force, len(other.others)) == (None, False, 2)


def test_spans_are_offered_as_far_as_jobs_are_known(past: Sim) -> None:
    assert days_known(x()) == 3
    assert [spans_for(known) for known in (0, 3, 7, 8, 30, 31)] == [
        [],
        [7],
        [7],
        [7, 30],
        [7, 30],
        [7, 30, 90],
    ]
    KeptRun.objects.update(end=int((clock.now() - timedelta(days=100)).timestamp()), start=0)
    assert days_known(x()) == 0


def test_in_chinese_nothing_stays_english(past: Sim) -> None:
    doc = simulated(past)
    with translation.override("zh-hans"):
        told = told_of({**doc, "not_followed": ["quotas", "order"], "cut": True})
        words = [told.sentence, told.paid, told.ranges, told.beside, *told.assumed]
    for line in words:
        assert any("\u4e00" <= char <= "\u9fff" for char in line), line
        assert "would" not in line
        assert " the " not in line
