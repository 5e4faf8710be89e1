"""`/metrics`: the right figures, for whoever may have them, in few queries, the same as the page that lists them."""

import re
import time
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.db import transaction
from django.test import Client
from prometheus_client.parser import text_string_to_metric_families
from pytest_django import DjangoAssertNumQueries, Settings

from console.audit.checks import check_all
from console.audit.models import ChainCheck
from console.audit.services import SYSTEM, Subject, record
from console.cluster.models import Cluster, Job
from console.core import clock
from console.health.metrics import text
from console.starts.models import StopTally
from console.steering.models import Plan
from tests.factories import (
    EPOCH,
    NOW,
    make_cluster,
    make_expected_start,
    make_incident,
    make_job,
    make_running_job,
)

ROOT = Path(__file__).parents[2]
Samples = dict[tuple[str, tuple[tuple[str, str], ...]], float]


def samples() -> Samples:
    """Name and labels of every sample, with its value, read as Prometheus reads them."""
    found: Samples = {}
    for family in text_string_to_metric_families(text().decode()):
        for sample in family.samples:
            key = (sample.name, tuple(sorted(sample.labels.items())))
            assert key not in found, "told twice"
            found[key] = sample.value
    return found


def of(samples: Samples, name: str, **labels: str) -> float | None:
    return samples.get((f"giveway_{name}", tuple(sorted(labels.items()))))


def test_the_figures_are_those_of_the_tables(house: Cluster) -> None:
    for closed_at in (None, NOW):
        make_incident(Plan.objects.get(job_id="100"), closed_at=closed_at)
    told = samples()
    dev, x = {"cluster": "dev"}, {"cluster": "dev", "partition": "x"}
    plan = {**x, "kind": "preempt"}
    levels = {"user_level": "P0", "task_level": "none"}
    wanted: dict[tuple[Any, ...], float] = {
        ("cycles_total", *dev.items()): 7,
        ("cycles_degraded_total", *dev.items()): 2,
        ("cycles_failed_total", *dev.items()): 1,
        ("cycle_age_seconds", *dev.items()): 3,
        ("good_cycle_age_seconds", *dev.items()): 4,
        ("observation_age_seconds", *dev.items()): 5,
        ("cluster_observed", *dev.items()): 1,
        ("cycle_gap_seconds", *{**dev, "quantile": "0.5"}.items()): 2,
        ("cycle_gap_seconds", *{**dev, "quantile": "0.99"}.items()): 10,
        ("cycle_gap_seconds", *{**dev, "quantile": "1"}.items()): 9.5,
        ("cycle_late_seconds", *dev.items()): 0,
        ("slurm_requests", *{**dev, "kind": "queue"}.items()): 10,
        ("slurm_requests_budget", *dev.items()): 240,
        ("slurmctld_share", *dev.items()): 0.01,
        ("slurm_commands_limited", *dev.items()): 3,
        ("cycle_phase_seconds_count", *{**dev, "phase": "observe"}.items()): 1,
        ("cycle_phase_seconds_sum", *{**dev, "phase": "observe"}.items()): 0.3,
        ("cycle_phase_seconds_bucket", *{**dev, "phase": "observe", "le": "0.25"}.items()): 0,
        ("cycle_phase_seconds_bucket", *{**dev, "phase": "observe", "le": "0.5"}.items()): 1,
        ("cycle_phase_seconds_bucket", *{**dev, "phase": "observe", "le": "+Inf"}.items()): 1,
        ("plans", *{**plan, "state": "verified"}.items()): 1,
        ("plans", *{**plan, "state": "executing"}.items()): 1,
        ("plans_open", *x.items()): 1,
        ("stops_total", *{**x, "kind": "requeue_hold", "reason": "lower_user"}.items()): 1,
        ("beneficiary_start_seconds_count", *x.items()): 1,
        ("beneficiary_start_seconds_sum", *x.items()): 7,
        ("beneficiary_start_seconds_bucket", *{**x, "le": "5.0"}.items()): 0,
        ("beneficiary_start_seconds_bucket", *{**x, "le": "10.0"}.items()): 1,
        ("work_lost_resource_seconds_total", *{**x, "resource": "cpu"}.items()): 800,
        ("work_lost_resource_seconds_total", *{**x, "resource": "gpu"}.items()): 5,
        ("work_saved_resource_seconds_total", *{**x, "resource": "cpu"}.items()): 100,
        ("jobs", *{**x, "phase": "pending", **levels}.items()): 3,
        ("jobs", *{**x, "phase": "running", "user_level": "P1", "task_level": "P0"}.items()): 1,
        ("jobs_held_back", *{**x, "reason": "over_quota_held"}.items()): 3,
        ("paused", *x.items()): 1,
        ("paused", *{**dev, "partition": "y"}.items()): 0,
        ("paused", *{**dev, "partition": ""}.items()): 0,
        ("incidents_open", *x.items()): 1,
        ("incidents_open", *{**dev, "partition": "y"}.items()): 0,
        ("victims_lost_total", *x.items()): 2,
        ("audit_rows",): 0,
        ("audit_verified_row",): 0,
        ("audit_broken",): 0,
        ("notices_waiting", ("by", "mail")): 0,
        ("notices_waiting", ("by", "webhook")): 1,
    }
    assert {key: of(told, key[0], **dict(key[1:])) for key in wanted} == wanted
    counted = [key for key in told if key[0] in {"giveway_stops_total", "giveway_jobs", "giveway_plans"}]
    assert len(counted) == 1 + 2 + 2, "a failed stop, a signal or an ended job was counted"


def test_a_cluster_that_cannot_be_observed(house: Cluster) -> None:
    Cluster.objects.update(fault="Unable to contact slurm controller")
    assert of(samples(), "cluster_observed", cluster="dev") == 0


def test_before_the_first_cycle(db: None) -> None:
    make_cluster(observed_at=None)
    told = samples()
    assert of(told, "cycles_total", cluster="dev") == 0
    assert of(told, "cluster_observed", cluster="dev") == 0
    assert of(told, "observation_age_seconds", cluster="dev") is None


def test_the_chain_of_the_audit_log(house: Cluster) -> None:
    assert of(samples(), "audit_verified_age_seconds", kind="new") is None, "nobody has looked yet"
    degraded = Subject("cluster", "dev", "dev", "dev")
    with transaction.atomic():
        entry = record(actor=SYSTEM, action="cluster.degraded", subject=degraded, reason="x")
    check_all("ada")
    ChainCheck.objects.update(finished_at=clock.now() - timedelta(minutes=20))
    told = samples()
    assert of(told, "audit_verified_row") == entry.sequence and of(told, "audit_broken") == 0
    assert 1200 <= (of(told, "audit_verified_age_seconds", kind="full") or 0) < 1260
    ChainCheck.objects.update(faults=["row 1: changed"])
    assert of(samples(), "audit_broken") == 1


def test_forecasts_tell_their_age_and_how_good_they_are(house: Cluster) -> None:
    assert of(samples(), "starts_forecast_age_seconds", cluster="dev") is None
    row = make_expected_start(make_job(house, "101"))
    type(row).objects.update(made_at=int(clock.now().timestamp()) - 70)
    StopTally.objects.create(cluster=house, partition="x", jobs=100, stopped=5, squares=2.0, base_squares=4.0)
    told, x = samples(), {"cluster": "dev", "partition": "x"}
    assert of(told, "starts_forecast_age_seconds", cluster="dev") == pytest.approx(70, abs=1)
    assert (of(told, "stop_chance_brier", **x), of(told, "stop_chance_brier_base", **x)) == (0.02, 0.04)


def test_no_job_and_no_person_is_a_label(house: Cluster) -> None:
    make_running_job(house, "777", user="mallory", name="secret_project")
    words = {value for _, labels in samples() for _, value in labels}
    assert not words & {"777", "mallory", "secret_project", "ann", "dave", "88", "101"}


def test_the_number_of_queries_does_not_grow(
    house: Cluster, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    with django_assert_num_queries(21):
        text()
    for number in range(30):
        make_running_job(house, f"5{number}", user_level_name=f"P{number % 4}")
        make_cluster(f"other{number}")
    with django_assert_num_queries(21):
        text()


def test_ten_thousand_jobs_are_counted_within_a_moment(house: Cluster) -> None:
    Job.objects.bulk_create(
        [
            Job(
                cluster=house, job_id=str(10_000 + n), partition="x", name=f"job{n}", user=f"u{n % 50}",
                phase="running" if n % 2 else "pending", submit=EPOCH, start=EPOCH, alloc={"n1": {"cpu": 1}},
                user_level_name=f"P{n % 4}", task_level_name=f"P{n % 3}", explain="It waits for room. " * 5,
                verdict="" if n % 2 else "queue", reason="" if n % 2 else f"reason{n % 5}",
                fingerprint=str(n),
            )
            for n in range(10_000)
        ],
        batch_size=500,
    )  # fmt: skip
    before = time.thread_time()  # of this thread alone, whatever else the machine does
    told = samples()
    assert time.thread_time() - before < 1.0
    assert sum(value for (name, _), value in told.items() if name == "giveway_jobs") == 10_004
    assert sum(value for (name, _), value in told.items() if name == "giveway_jobs_held_back") == 5_003


def test_names_are_escaped(house: Cluster) -> None:
    Job.objects.update(user_level_name='P"0\\\n')
    key = {
        "cluster": "dev",
        "partition": "x",
        "user_level": 'P"0\\\n',
        "task_level": "P0",
        "phase": "running",
    }
    assert of(samples(), "jobs", **key) == 1


# --- who may read them ---


def get(**headers: str) -> Any:
    return Client().get("/metrics", **{"REMOTE_ADDR": "127.0.0.1", **headers})  # type: ignore[arg-type]


@pytest.mark.parametrize("address", ["127.0.0.1", "127.8.9.1", "::1", "::ffff:127.0.0.1"])
def test_without_a_token_this_machine_may_read(house: Cluster, address: str) -> None:
    answer = get(REMOTE_ADDR=address)
    assert answer.status_code == 200
    assert answer["Content-Type"] == "text/plain; version=0.0.4; charset=utf-8"
    assert "giveway_cycles_total" in answer.content.decode()
    assert "no-store" in answer["Cache-Control"]


@pytest.mark.parametrize(
    "headers",
    [
        {"REMOTE_ADDR": "192.0.2.7"},
        {"REMOTE_ADDR": ""},
        {"REMOTE_ADDR": "::ffff:192.0.2.7"},
        {"HTTP_X_FORWARDED_FOR": "192.0.2.7"},
        {"HTTP_X_FORWARDED_FOR": "127.0.0.1"},
        {"HTTP_X_FORWARDED_PROTO": "https"},
        {"HTTP_X_REAL_IP": "127.0.0.1"},
        {"HTTP_FORWARDED": "for=127.0.0.1"},
        {"HTTP_AUTHORIZATION": "Bearer guess", "REMOTE_ADDR": "192.0.2.7"},
    ],
)
def test_without_a_token_nobody_else_sees_that_they_are_there(
    house: Cluster, headers: dict[str, str]
) -> None:
    answer = get(**headers)
    assert answer.status_code == 404
    assert "giveway_" not in answer.content.decode()


@pytest.mark.parametrize("address", ["127.0.0.1", "192.0.2.7"])
@pytest.mark.parametrize(
    ("authorization", "status"),
    [
        ("Bearer right-token", 200),
        ("bearer right-token", 200),
        ("Bearer wrong", 401),
        ("Token right-token", 401),
        ("", 401),
    ],
)
def test_with_a_token_only_it_counts(
    house: Cluster, settings: Settings, address: str, authorization: str, status: int
) -> None:
    settings.GIVEWAY_METRICS_TOKEN = "right-token"
    answer = get(REMOTE_ADDR=address, HTTP_AUTHORIZATION=authorization)
    assert answer.status_code == status
    assert ("giveway_" in answer.content.decode()) == (status == 200)
    assert ("WWW-Authenticate" in answer) == (status == 401)


def test_nothing_is_changed_by_asking(house: Cluster) -> None:
    assert Client().post("/metrics").status_code == 405


# --- the broker ---


@pytest.mark.redis
def test_the_brokers_queues(db: None, settings: Settings, redis_url: str) -> None:
    import redis

    settings.REDIS_URL = redis_url
    with redis.Redis.from_url(redis_url) as client:
        client.rpush("steer", "a", "b")
        try:
            told = samples()
        finally:
            client.delete("steer")
    assert of(told, "broker_up") == 1
    assert of(told, "broker_queue_length", queue="steer") == 2
    assert of(told, "broker_queue_length", queue="celery") == 0


def test_a_broker_that_does_not_answer_is_told_at_once(db: None, settings: Settings) -> None:
    settings.REDIS_URL = "redis://127.0.0.1:1/0"
    before = time.perf_counter()
    told = samples()
    assert time.perf_counter() - before < 10
    assert of(told, "broker_up") == 0
    assert of(told, "broker_queue_length", queue="celery") is None


def test_without_redis_there_is_no_broker_to_tell_of(db: None) -> None:
    assert "broker" not in text().decode()


# --- the page that lists them ---


def test_the_page_lists_what_is_served(house: Cluster, settings: Settings) -> None:
    settings.REDIS_URL = "redis://127.0.0.1:1/0"
    served = {}
    for line in text().decode().splitlines():
        if found := re.fullmatch(r"# TYPE (\w+) (\w+)", line):
            served[found[1]] = found[2]
    labels: dict[str, set[str]] = {name: set() for name in served}
    for name, pairs in samples():
        family = next(f for f in (name, re.sub(r"_(bucket|sum|count)$", "", name)) if f in served)
        labels[family] |= {label for label, _ in pairs if label != "le"}
    page = (ROOT / "docs" / "operations.md").read_text()
    rows = re.findall(r"^\| `(giveway_\w+)` \| (\w+) \|([^|]*)\|", page, re.MULTILINE)
    assert {name: kind for name, kind, _ in rows} == served
    listed = {name: set(re.findall(r"`(\w+)`", words)) for name, _, words in rows}
    # Without a sample there is nothing to compare with.
    assert {name: listed[name] for name in labels if labels[name]} == {
        n: there for n, there in labels.items() if there
    }


def test_the_clock_is_ours(house: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clock, "now", lambda: NOW + timedelta(seconds=65))
    assert of(samples(), "observation_age_seconds", cluster="dev") == 65
