"""`manage.py doctor`: each check with something broken, and what is said of it."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.db import connection, transaction
from django.db.migrations.recorder import MigrationRecorder
from pytest_django import Settings

from console.audit.anchors import write_anchor
from console.audit.checks import check_all, check_some
from console.audit.models import AuditHead, ChainCheck
from console.audit.services import SYSTEM, Subject, record
from console.cluster.models import Cluster, ClusterPartition, Job
from console.core import clock
from console.core.files import private_files
from console.forecasts.models import AccountingRead
from console.health.doctor import (
    database,
    files,
    forecasting,
    installation,
    power,
    run,
    slurm,
    slurm_settings,
    work,
)
from console.health.doctor.findings import Finding, Level
from console.partitions.models import Partition
from console.power import figures
from console.power.figures import NewReading
from console.power.models import Measurement, MeasuringRule, Processor, Source
from console.starts.models import ExpectedStart
from console.steering.failures import Streak, written
from console.steering.models import CycleMeter, CyclePace, Incident, Pause, Plan, SteeringMinute
from scheduler.adapters.slurm.config import words_of
from scheduler.model.checkup import Checkup
from scheduler.model.observation import Resizing
from tests import factories
from tests.factories import NOW, make_partition, make_revision
from tests.health.chinese import english_left
from tests.plugins.servers import PostgresServer, RedisServer

ROOT = Path(__file__).parents[2]
RECORDED = ROOT / "tests" / "adapters" / "slurm" / "recordings" / "22.05.8" / "busy" / "config.txt"


def bad(findings: Iterable[Finding]) -> list[tuple[Level, str]]:
    """What is not OK: level, and what is said with the cure. All that is said can be said in Chinese."""
    every = list(findings)
    assert english_left(map(asdict, every)) == []
    return [(f.level, f"{f.what} {f.fix}") for f in every if f.level is not Level.OK]


def only(findings: Iterable[Finding]) -> tuple[Level, str]:
    (one,) = bad(findings)
    return one


# --- slurm.conf ---


@pytest.fixture(scope="module")
def words() -> Mapping[str, str]:
    """The configuration of a real slurmctld, as it printed it."""
    return words_of(RECORDED.read_text())


def test_a_good_configuration_has_nothing_wrong(words: Mapping[str, str]) -> None:
    found = [finding for check in slurm_settings.PLAIN for finding in check(words)]
    found += [*slurm_settings.kill_wait(words, 120), *slurm_settings.room_for_jobs(words, 100)]
    found += slurm_settings.submit_plugin(words, "")
    assert bad(found) == []
    assert len(found) >= 7


REQUEUE = {"PreemptType": "preempt/qos", "PreemptMode": "REQUEUE"}
SUSPEND = {"PreemptType": "preempt/partition_prio", "PreemptMode": "GANG,SUSPEND"}
DATABASE = {"AccountingStorageType": "accounting_storage/slurmdbd", "GresTypes": "gpu"}
BROKEN = [
    ("requeue", {"JobRequeue": "0"}, Level.FAIL, "JobRequeue=1"),
    ("native_preemption", REQUEUE, Level.FAIL, "PreemptType=preempt/none"),
    ("native_preemption", SUSPEND, Level.FAIL, "PreemptType=preempt/none"),
    ("native_preemption", {**REQUEUE, "PreemptMode": "OFF"}, Level.WARN, "switches it on"),
    ("selection", {"SelectType": "select/linear"}, Level.WARN, "whole nodes"),
    ("selection", {"SelectType": "select/cray_aries"}, Level.WARN, "not known"),
    ("priorities", {"PriorityType": "priority/basic"}, Level.WARN, "end of Slurm's line"),
    ("memory_of_jobs", {"MinJobAge": "5 sec"}, Level.FAIL, "MinJobAge=300"),
    ("memory_of_jobs", {"MinJobAge": "30 sec"}, Level.WARN, "MinJobAge=300"),
    ("scheduling", {"SchedulerType": "sched/builtin"}, Level.WARN, "sched/backfill"),
    ("scheduling", {"SchedulerParameters": "bf_interval=1,Defer"}, Level.WARN, "SchedulerParameters=defer"),
    ("scheduling", {"SchedulerParameters": "max_rpc_cnt=150"}, Level.WARN, "max_rpc_cnt"),
    ("scheduling", {"CompleteWait": "32 sec"}, Level.WARN, "CompleteWait=0"),
    ("gpus", {**DATABASE, "AccountingStorageTRES": "cpu,mem"}, Level.WARN, "Add gres/gpu"),
]


@pytest.mark.parametrize(("check", "changes", "level", "told"), BROKEN)
def test_a_setting_that_bites(
    words: Mapping[str, str], check: str, changes: dict[str, str], level: Level, told: str
) -> None:
    found, text = only(getattr(slurm_settings, check)({**words, **changes}))
    assert (found, told in text) == (level, True), text


@pytest.mark.parametrize(
    "changes",
    [
        {"MinJobAge": "0 sec"},
        {"SchedulerParameters": "max_rpc_cnt=0"},
        {"PreemptType": "preempt/none", "PreemptMode": "REQUEUE"},
        {"SelectType": "select/cons_res"},
        {"AccountingStorageTRES": "cpu,mem,gres/gpu", "AccountingStorageType": "accounting_storage/slurmdbd"},
    ],
)
def test_a_setting_that_does_not(words: Mapping[str, str], changes: dict[str, str]) -> None:
    assert bad(f for check in slurm_settings.PLAIN for f in check({**words, **changes})) == []


@pytest.mark.parametrize(("ways", "code"), [
    ({Resizing.RESTART, Resizing.IN_PLACE_ONCE}, "once"),
    ({Resizing.RESTART, Resizing.IN_PLACE}, "in_place"),
    ({Resizing.RESTART}, "restart"),
    (set(), "none"),
])  # fmt: skip
def test_how_elastic_jobs_give_back_nodes(ways: set[Resizing], code: str) -> None:
    found = Checkup("ann(1)", {}, words={"SLURM_VERSION": "22.05.8"}, resizing=frozenset(ways))

    [finding] = slurm.check_resizing(found)

    assert (finding.level, finding.code) == (Level.OK, f"doctor.resizing.{code}")
    assert not list(slurm.check_resizing(Checkup("ann(1)", {})))


def test_how_long_is_too_long_depends_on_the_deadline(words: Mapping[str, str]) -> None:
    slow = {**words, "KillWait": "90 sec"}
    assert only(slurm_settings.kill_wait(slow, 120))[0] is Level.WARN
    assert only(slurm_settings.kill_wait(slow, 90))[0] is Level.FAIL
    assert bad(slurm_settings.kill_wait({**words, "KillWait": "30 sec"}, 120)) == []


def test_a_partition_that_preempts_on_its_own() -> None:
    partitions = {"x": {"PreemptMode": "OFF"}, "y": {"PreemptMode": "REQUEUE"}, "z": {}}
    assert "their own: y (REQUEUE)." in only(slurm_settings.partitions_preempt(partitions))[1]
    assert bad(slurm_settings.partitions_preempt({"x": {"PreemptMode": "OFF"}})) == []


def test_a_nearly_full_slurmctld(words: Mapping[str, str]) -> None:
    small = {**words, "MaxJobCount": "1000"}
    assert bad(slurm_settings.room_for_jobs(small, 800)) == []
    assert "MaxJobCount=1000" in only(slurm_settings.room_for_jobs(small, 801))[1]


def test_users_that_this_machine_does_not_know_by_name() -> None:
    """All of them are nobody to squeue: one user, of no project."""
    assert bad(slurm.users_by_name(0)) == []
    assert "nobody's: 3." in only(slurm.users_by_name(3))[1]


def test_jobs_of_nobody_are_counted(db: None, settings: Settings) -> None:
    cluster = Cluster.objects.create(name=settings.GIVEWAY_CLUSTER_NAME, kind="slurm")
    for number, user in enumerate(("ann", "nobody", "nobody"), start=1):
        factories.make_job(cluster, job_id=str(number), user=user)
    assert run._policies_and_jobs()[1:] == (3, 2)


def test_the_plugin_and_its_file_belong_together(words: Mapping[str, str]) -> None:
    assert "JobSubmitPlugins=lua" in only(slurm_settings.submit_plugin(words, "/etc/rules"))[1]
    assert (
        bad(
            slurm_settings.submit_plugin({**words, "JobSubmitPlugins": "require_timelimit,lua"}, "/etc/rules")
        )
        == []
    )


@pytest.mark.parametrize("name", ["job_submit.lua", "giveway_submit.lua"])
def test_a_script_of_another_release_is_told(words: Mapping[str, str], tmp_path: Path, name: str) -> None:
    told_of = {**words, "JobSubmitPlugins": "lua", "SLURM_CONF": str(tmp_path / "slurm.conf")}
    shipped = (ROOT / "deploy" / "slurm" / "job_submit.lua").read_text(encoding="utf-8")
    script = tmp_path / name
    script.write_text(shipped, encoding="utf-8")
    assert bad(slurm_settings.submit_plugin(told_of, "/etc/rules")) == []

    script.write_text(shipped.replace("MOST_SHOWN = 8", "MOST_SHOWN = 7"), encoding="utf-8")
    assert str(script) in only(slurm_settings.submit_plugin(told_of, "/etc/rules"))[1]

    script.write_text("-- the site's own\n", encoding="utf-8")
    assert bad(slurm_settings.submit_plugin(told_of, "/etc/rules")) == []


# --- Slurm itself ---

GOOD = Checkup(
    account="slurm(64030)",
    programs={"squeue": "/usr/bin/squeue", "scontrol": "/usr/bin/scontrol", "scancel": "/usr/bin/scancel"},
    client="22.05.8",
    words={"SLURM_VERSION": "22.05.8", "SlurmUser": "slurm(64030)", "ClusterName": "dev"},
    operator=True,
)


def slurm_findings(found: Checkup) -> list[tuple[Level, str]]:
    checks = (slurm.check_commands, slurm.check_answers, slurm.check_rights, slurm.check_clock)
    return bad(finding for check in checks for finding in check(found))


def test_a_good_slurm_has_nothing_wrong() -> None:
    assert slurm_findings(GOOD) == []


@pytest.mark.parametrize(
    ("client", "server", "level", "told"),
    [
        ("20.11.4", "20.11.4", Level.FAIL, "22.05 or later"),
        ("23.11.0", "22.05.8", Level.FAIL, "newer (23.11.0)"),
        ("22.05.8", "23.02.1", Level.WARN, "older (22.05.8)"),
    ],
)
def test_versions(client: str, server: str, level: Level, told: str) -> None:
    ((found, text),) = slurm_findings(
        replace(GOOD, client=client, words={**GOOD.words, "SLURM_VERSION": server})
    )
    assert (found, told in text) == (level, True), text


@pytest.mark.parametrize(
    ("version", "told"),
    [("22.05.11", ""), ("24.11.5", ""), ("26.05.0-rc1", ""), ("25.11.2", "25.11.2, but with 22.05")],
)
def test_a_release_that_was_not_tried_is_told(version: str, told: str) -> None:
    found = bad(slurm.check_tried(replace(GOOD, words={**GOOD.words, "SLURM_VERSION": version})))
    assert [level for level, _ in found] == [Level.WARN] * bool(told)
    assert all(told in text for _, text in found)


def test_rights() -> None:
    ((level, text),) = slurm_findings(replace(GOOD, operator=False, refusal="Invalid user id"))
    assert level is Level.FAIL and "adminlevel=operator" in text and "slurm(64030)" in text
    ((level, text),) = slurm_findings(replace(GOOD, operator=None, refusal="Something new"))
    assert level is Level.WARN and "Something new" in text
    private = {**GOOD.words, "PrivateData": "accounts,jobs"}
    assert slurm_findings(replace(GOOD, words=private)) == []
    blind = slurm_findings(replace(GOOD, words=private, operator=False, refusal="Invalid user id"))
    assert len(blind) == 2 and "full nodes look empty" in blind[1][1]


def test_clocks() -> None:
    assert "3600 s ahead of" in slurm_findings(replace(GOOD, skew_s=3600))[0][1]
    assert "60 s behind" in slurm_findings(replace(GOOD, skew_s=-60))[0][1]
    assert slurm_findings(replace(GOOD, skew_s=3)) == []


# --- the console's own ---


def test_the_cadence_of_the_cycles(house: Cluster) -> None:
    assert bad(work.check_cadence()) == []
    SteeringMinute.objects.update(late_s=61.0, longest_s=64.0, instead=[["forecasts.forecast", 60.5]])
    level, text = only(work.check_cadence())
    assert level is Level.WARN and "no cycle for 64 s" in text and "forecasts.forecast (60.5 s)" in text
    SteeringMinute.objects.update(instead=[])
    assert "ran nothing else" in only(work.check_cadence())[1]


def test_what_slurmctld_is_asked(house: Cluster) -> None:
    Cluster.objects.update(kind="slurm")
    pace = CyclePace.objects.create(cluster=house, budget=4)
    level, text = only(work.check_cadence())
    assert level is Level.WARN and "3 commands had to wait" in text and "4 times a minute" in text
    SteeringMinute.objects.update(limited=0, stretched=2)
    assert "wait for the budget of 4" in only(work.check_cadence())[1]
    SteeringMinute.objects.update(stretched=0)
    assert bad(work.check_cadence()) == []
    pace.fault = "sdiag is not on the PATH of this process"
    pace.save()
    assert "counters cannot be read" in only(work.check_cadence())[1]


def test_what_a_limit_of_slurmctld_means(settings: Settings) -> None:
    assert bad(slurm.check_rate_limit(GOOD)) == []
    assert bad(slurm.check_rate_limit(replace(GOOD, burst=30, per_minute=240.0))) == []
    level, text = only(slurm.check_rate_limit(replace(GOOD, burst=40, per_minute=4.0)))
    assert level is Level.WARN and "only 4 times a minute" in text


def test_the_worker(house: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    assert bad(work.check_worker()) == []
    Cluster.objects.update(fault="Unable to contact slurm controller")
    level, text = only(work.check_worker())
    assert level is Level.FAIL and "Unable to contact slurm controller" in text
    Cluster.objects.update(fault="")
    what = "console/steering/ledger.py, line 88 (act): ValueError: odd"
    CycleMeter.objects.update(failing=written({"": Streak("", what, NOW)}))
    level, text = only(work.check_worker())
    assert level is Level.FAIL and f"until a cycle has ended well: The cycle failed in {what} It is" in text
    CycleMeter.objects.update(failing={})
    monkeypatch.setattr(clock, "now", lambda: NOW - timedelta(seconds=58))
    assert "60 s ahead" in only(work.check_worker())[1]
    monkeypatch.setattr(clock, "now", lambda: NOW + timedelta(hours=1))
    level, text = only(work.check_worker())
    assert level is Level.FAIL and "3598 s ago" in text
    Cluster.objects.update(attempted_at=None)
    assert "No cycle has ever run" in only(work.check_worker())[1]


def test_forecasts(house: Cluster) -> None:
    job = factories.make_job(house, "101", place=1)
    now = int(clock.now().timestamp())
    Job.objects.filter(pk=job.pk).update(reason="", waits_since=now - 599)
    assert bad(forecasting.check_forecasts()) == []
    Job.objects.filter(pk=job.pk).update(waits_since=now - 700)
    level, text = only(forecasting.check_forecasts())
    assert (
        level is Level.WARN
        and "nobody forecasts when they start" in text
        and "--queues=celery,forecasts" in text
    )
    row = factories.make_expected_start(job)
    ExpectedStart.objects.filter(pk=row.pk).update(made_at=now - 50)
    assert bad(forecasting.check_forecasts()) == []
    ExpectedStart.objects.filter(pk=row.pk).update(made_at=now - 1900)
    assert "last forecast 31 min ago" in only(forecasting.check_forecasts())[1]
    Job.objects.filter(pk=job.pk).update(held=True)
    AccountingRead.objects.create(cluster=house, until=0, fault="sacct: error: Connection refused")
    level, text = only(forecasting.check_forecasts())
    assert level is Level.WARN and "Connection refused" in text


def test_power(house: Cluster, settings: Settings) -> None:
    assert list(power.check_power()) == [], "nothing is measured"
    figures.record(house, [NewReading("n1", "gpu", device, 10.0) for device in range(4)], Source.MEASURED)
    assert bad(power.check_power()) == []
    figures.record(house, [NewReading("n1", "gpu", 4, 11.8)], Source.MEASURED)
    level, text = only(power.check_power())
    assert level is Level.WARN and "n1, gpu 4, is 18 % slower than the middle of its 4 siblings." in text
    Processor.objects.all().delete()
    row = Measurement.objects.create(
        cluster=house, partition="x", node="n2", resource="gpu", devices=1, cause="first", state="failed",
        asked_at=clock.now(), ended_at=clock.now(), outcome="exit code 1: no GPU",
    )  # fmt: skip
    assert "Measuring n2 failed: exit code 1: no GPU" in only(power.check_power())[1]
    Measurement.objects.filter(pk=row.pk).update(ended_at=clock.now() - timedelta(days=2))
    assert list(power.check_power()) == []
    MeasuringRule.objects.create(partition=Partition.objects.all()[0], enabled=True)
    Cluster.objects.update(kind="slurm")
    assert "Set GIVEWAY_NODES_URL" in only(power.check_power())[1]
    settings.GIVEWAY_NODES_URL = "http://console.test"
    assert list(power.check_power()) == []


def test_incidents(house: Cluster) -> None:
    assert bad(work.check_incidents()) == []
    factories.make_incident(Plan.objects.all()[0])
    level, text = only(work.check_incidents())
    assert level is Level.FAIL and "The stopped job 88 did not come back." in text
    Incident.objects.update(closed_at=NOW)
    assert bad(work.check_incidents()) == []


def test_the_audit_logs_anchors(
    db: None, settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.HOME = tmp_path
    assert bad(work.check_audit()) == []
    with transaction.atomic():
        record(
            actor=SYSTEM,
            action="cluster.degraded",
            subject=Subject(type="cluster", id="dev", label="dev", cluster="dev"),
            reason="x",
        )
    assert bad(work.check_audit()) == []
    later = clock.now() + timedelta(hours=3)
    monkeypatch.setattr(clock, "now", lambda: later)
    level, text = only(work.check_audit())
    assert level is Level.WARN and "One row of the audit log" in text
    AuditHead.objects.update(anchored=1)
    assert bad(work.check_audit()) == []
    settings.HOME = tmp_path / "nowhere"
    level, text = only(work.check_audit())
    assert level is Level.FAIL and "nowhere" in text


def test_the_room_on_the_disk(settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With a full disk the doctor found a worker that was late, and not a word of why."""
    monkeypatch.setattr(files, "own_folders", lambda home, _database: [home])
    settings.HOME = tmp_path
    for megabytes, level, told in (
        (5000, Level.OK, "has 4 GB of room"),
        (900, Level.WARN, "has only 900 MB of room"),
        (3, Level.FAIL, "is full (3 MB of room)"),
    ):
        monkeypatch.setattr(files, "free_bytes", lambda _folder, megabytes=megabytes: megabytes << 20)
        [found] = files.check_disk()
        assert found.level is level and told in found.what, found
        assert bool(found.fix) is (level is not Level.OK)
    settings.HOME = tmp_path / "nowhere"
    level, text = only(files.check_disk())
    assert level is Level.FAIL and "cannot write in" in text


def test_the_audit_logs_chain(db: None) -> None:
    assert bad(work.check_chain()) == []
    degraded = Subject("cluster", "dev", "dev", "dev")
    with transaction.atomic():
        record(actor=SYSTEM, action="cluster.degraded", subject=degraded, reason="x")
    assert "not been verified yet" in only(work.check_chain())[1]
    check_all("ada")
    [good] = work.check_chain()
    assert good.level is Level.OK and "up to row 1" in good.what
    ChainCheck.objects.update(finished_at=clock.now() - timedelta(hours=1))
    assert only(work.check_chain())[0] is Level.WARN
    ChainCheck.objects.update(faults=["row 7: changed"])
    level, text = only(work.check_chain())
    assert level is Level.FAIL and "row 7: changed" in text


def test_partitions(house: Cluster) -> None:
    ClusterPartition.objects.create(cluster=house, name="x")
    ClusterPartition.objects.create(cluster=house, name="new")
    enforcing = make_partition(house, "z")
    enforcing.revision = make_revision(enforcing, 2, enforcement="enforce")
    enforcing.save()
    ClusterPartition.objects.create(cluster=house, name="z")
    found = list(installation.check_partitions())
    told = [finding.what for finding in found]
    assert "In enforce: z." in told and "In shadow: x." in told
    assert "Without a policy, so nothing is planned there: new." in told
    assert [text.split(":")[0] for _, text in bad(found)] == [
        "y has a policy, but the cluster has no such partition. Look at its name in Slurm.",
        "Anybody may have others stopped on z by the name of a job",
        "dave has paused x since 2026-03-02 12",
    ]
    Pause.objects.all().delete()
    assert len(bad(installation.check_partitions())) == 2
    closed = [{**level, "keyword_users": []} for level in factories.policy_document("z")["levels"]]
    enforcing.revision = make_revision(enforcing, 3, enforcement="enforce", levels=closed)
    enforcing.save()
    assert len(bad(installation.check_partitions())) == 1


def test_settings_that_are_for_trying_out(settings: Settings) -> None:
    assert bad(installation.check_settings()) == []
    settings.DEBUG = True
    settings.ALLOWED_HOSTS = ["*"]
    settings.GIVEWAY_METRICS_TOKEN = "short"
    settings.GIVEWAY_CLUSTER = "slurm"
    told = bad(installation.check_settings())
    assert [level for level, _ in told] == [Level.FAIL, Level.WARN, Level.WARN, Level.WARN]
    assert not any("short" in text for _, text in told)


def test_sqlite_is_for_one(db: None, settings: Settings) -> None:
    if connection.vendor != "sqlite":
        pytest.skip("about SQLite")
    assert bad(database.check_database()) == []
    settings.GIVEWAY_CLUSTER = "slurm"
    level, text = only(database.check_database())
    assert level is Level.WARN and "PostgreSQL" in text


def test_missing_migrations(db: None) -> None:
    latest = MigrationRecorder.Migration.objects.filter(app="steering").order_by("-name")[0]
    latest.delete()
    level, text = only(database.check_database())
    missing = f"The migration steering.{latest.name} is missing."
    assert level is Level.FAIL and missing in text and "migrate" in text


def test_messages(settings: Settings) -> None:
    assert bad(work.check_messages()) == []
    settings.GIVEWAY_WEBHOOK_URL = "http://hooks.example.org/sesame"
    level, text = only(work.check_messages())
    assert level is Level.WARN and "sesame" not in text


# --- the broker ---


@pytest.mark.redis
def test_a_real_redis(redis_server: RedisServer, settings: Settings) -> None:
    import redis

    settings.REDIS_URL = redis_server.url
    with redis.Redis.from_url(redis_server.url) as client:
        client.delete(*settings.GIVEWAY_QUEUES)  # the server is the session's: other tests have left messages
        assert bad(work.check_broker()) == []
        client.rpush("forecasts", *range(101))
        client.rpush("steer", *range(99))
        client.config_set("maxmemory-policy", "allkeys-lru")
        try:
            told = bad(work.check_broker())
        finally:
            client.delete("forecasts", "steer")
            client.config_set("maxmemory-policy", "noeviction")
    assert [level for level, _ in told] == [Level.WARN, Level.WARN]
    assert "allkeys-lru" in told[0][1] and "101 messages wait in the queue forecasts" in told[1][1]
    assert "--queues=forecasts" in told[1][1]
    settings.REDIS_URL = redis_server.url.replace(redis_server.password, "wrong-password")
    level, text = only(work.check_broker())
    assert level is Level.FAIL and "password" in text and "wrong-password" not in text


def test_a_dead_redis(settings: Settings) -> None:
    settings.REDIS_URL = "redis://:sesame-street@127.0.0.1:1/0"
    level, text = only(work.check_broker())
    assert level is Level.FAIL and "does not answer" in text and "sesame" not in text


# --- the command ---


def doctor(env: Mapping[str, str]) -> tuple[int, list[dict[str, Any]], str]:
    """Exit status, findings, and all that was printed."""
    done = subprocess.run(
        [sys.executable, "manage.py", "doctor", "--json"],
        cwd=ROOT,
        env={**os.environ, **env},
        capture_output=True,
        text=True,
        timeout=300,
    )
    findings = json.loads(done.stdout)["findings"]
    assert [each for each in findings if not each["code"] and each["check"] != "settings"] == []
    return done.returncode, findings, done.stdout + done.stderr


def not_ok(findings: list[dict[str, Any]]) -> dict[str, str]:
    """Level by the beginning of what is said."""
    return {finding["what"]: finding["level"] for finding in findings if finding["level"] != "OK"}


def test_words_and_exit_status(
    house: Cluster, settings: Settings, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    Pause.objects.all().delete()
    for file in private_files(settings.HOME, settings.DATABASES["default"]):
        if file.exists():
            file.chmod(0o600)  # tests run with the umask of whoever runs them
    settings.HOME = tmp_path
    with transaction.atomic():
        record(actor=SYSTEM, action="cluster.recovered", subject=Subject("cluster", "dev", "dev", "dev"))
    write_anchor()
    check_some()
    call_command("doctor")
    out = capsys.readouterr().out
    assert "OK    worker      The last cycle ended 3.0 s ago.\n" in out
    assert out.endswith(" OK, 0 WARN, 0 FAIL.\n")
    Pause.objects.create(cluster=house, partition="", since=NOW, by="ada")
    call_command("doctor")
    out = capsys.readouterr().out
    assert "WARN  partitions  ada has paused the whole cluster" in out and "                  → Lift" in out
    assert out.endswith("1 WARN, 0 FAIL.\nIt works; the warnings will bite some day.\n")
    Cluster.objects.update(attempted_at=NOW - timedelta(hours=1))
    with pytest.raises(SystemExit) as ended:
        call_command("doctor")
    assert ended.value.code == 1


def test_a_broken_table_is_no_crash(house: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    from django.db import OperationalError

    def broken() -> Iterator[Finding]:
        raise OperationalError("no such table: steering_pause")

    monkeypatch.setattr(run, "NEED_DATABASE", (("partitions", broken),))
    assert ("WARN", True) in [(f.level, "no such table" in f.what) for f in run.examine()]


def test_a_database_that_is_not_there(tmp_path: Path) -> None:
    status, findings, _ = doctor(
        {"DATABASE_URL": f"sqlite:///{tmp_path}/no/such/folder/db", "GIVEWAY_HOME": str(tmp_path)}
    )
    assert status == 1
    told = {f["check"]: f for f in findings if f["level"] != "OK"}
    assert told["database"]["level"] == "FAIL" and "unable to open database file" in told["database"]["what"]
    assert {told[name]["level"] for name in ("worker", "audit", "partitions")} == {"WARN"}


@pytest.mark.postgres
def test_a_postgresql_that_died(tmp_path: Path) -> None:
    with PostgresServer() as server:
        url = server.url
        password = server.password
        begun = time.monotonic()
        status, findings, _ = doctor({"DATABASE_URL": url, "GIVEWAY_HOME": str(tmp_path)})
        usual = time.monotonic() - begun
        assert status == 1  # no migration is applied
        assert any("PostgreSQL answers" in f["what"] for f in findings)
        assert any("clock is this machine's" in f["what"] for f in findings)
        server.stop()
        before = time.monotonic()
        status, findings, printed = doctor({"DATABASE_URL": url, "GIVEWAY_HOME": str(tmp_path)})
        assert time.monotonic() - before < 60 + 5 * usual
    assert status == 1
    assert [f["check"] for f in findings if f["level"] == "FAIL"] == ["database"]
    assert password not in printed


def test_production_settings(tmp_path: Path) -> None:
    """What is too weak does not even start: tests/security/test_attacks/test_09_weak_settings.py."""
    env = {
        "DJANGO_SETTINGS_MODULE": "console.settings.production",
        "SECRET_KEY": "k8s-" + "x7Qz-" * 12,
        "ALLOWED_HOSTS": "giveway.example.org",
        "DATABASE_URL": f"sqlite:///{tmp_path}/db.sqlite3",
        "GIVEWAY_HOME": str(tmp_path),
    }
    _, findings, printed = doctor(env)
    assert not [what for what in not_ok(findings) if "security" in what]
    assert any("SQLite serves one machine" in f["what"] and f["level"] == "WARN" for f in findings)
    assert any("The broker is embedded" in f["what"] and f["level"] == "WARN" for f in findings)
    assert env["SECRET_KEY"] not in printed
