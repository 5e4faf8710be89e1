"""The doctor on real slurmctlds: one that is well set up, one that could hardly be set up worse, one that is gone."""

import json
import os
import pwd
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from pytest_django import Settings

from deploy.private_slurm import PrivateSlurm
from deploy.private_slurm.config import Partition
from scheduler.adapters.slurm import SlurmCluster, checkup
from scheduler.adapters.slurm.checkup import look
from tests.plugins.private_slurm import new_root

pytestmark = [pytest.mark.slurm, pytest.mark.every_release]

ROOT = Path(__file__).parents[2]
BAD = {
    "JobRequeue": "0",
    "PreemptType": "preempt/partition_prio",
    "PreemptMode": "REQUEUE",
    "PriorityType": "priority/basic",
    "KillWait": "300",
    "MinJobAge": "5",
    "CompleteWait": "20",
    "SchedulerParameters": "defer,bf_interval=1",
    "PrivateData": "jobs",
    "MaxJobCount": "1000",
}


@pytest.fixture(scope="module")
def bad_slurm(slurm_release: str) -> Iterator[PrivateSlurm]:
    """Everything that bites, in one slurm.conf; partition x would preempt on its own."""
    partitions = (
        Partition("x", (1,), {"PreemptMode": "REQUEUE", "PriorityTier": "10"}),
        Partition("y", (1,)),
    )
    with PrivateSlurm(
        new_root(),
        nodes=1,
        partitions=partitions,
        options=BAD,
        version=slurm_release,
        remove_root=True,
    ) as slurm:
        yield slurm


Findings = list[dict[str, Any]]
Doctor = Callable[..., tuple[int, Findings]]


@pytest.fixture
def doctor(db: None, settings: Settings, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Doctor:
    """The command, with a Slurm's variables and settings of the console; gives its exit status and its findings."""

    def ask(slurm_env: Mapping[str, str], **changed: object) -> tuple[int, Findings]:
        for name, value in slurm_env.items():
            monkeypatch.setenv(name, value)
        ours = {"GIVEWAY_CLUSTER": "slurm", "GIVEWAY_SLURM_TIMEOUT_S": 40, "HOME": tmp_path, **changed}
        for name, setting in ours.items():
            setattr(settings, name, setting)
        status, said = 0, StringIO()
        try:
            call_command("doctor", "--json", stdout=said)
        except SystemExit as ended:
            status = int(ended.code or 0)
        findings = json.loads(said.getvalue())["findings"]
        assert [each for each in findings if not each["code"] and each["check"] != "settings"] == []
        return status, findings

    return ask


def levels(findings: list[dict[str, Any]], check: str) -> list[tuple[str, str]]:
    """Level, and the first word or two of what is said."""
    return [(f["level"], f["what"].split(":")[0].split(" (")[0]) for f in findings if f["check"] == check]


def test_a_good_slurm(private_slurm: PrivateSlurm, doctor: Doctor) -> None:
    status, findings = doctor(private_slurm.env)
    assert [level for level, _ in levels(findings, "commands")] == ["OK"]
    assert [level for level, _ in levels(findings, "slurmctld") + levels(findings, "rights")] == ["OK", "OK"]
    assert {level for level, _ in levels(findings, "slurm.conf")} == {"OK"}
    assert {level for level, _ in levels(findings, "clocks")} == {"OK"}
    once = SlurmCluster(env={**os.environ, **private_slurm.env}).describe().version.startswith("22.05.")
    [elastic] = [finding for finding in findings if finding["check"] == "elastic jobs"]
    assert elastic["level"] == "OK"
    assert elastic["code"] == ("doctor.resizing.once" if once else "doctor.resizing.in_place")
    assert status == 1  # no cycle has ever run


def test_a_slurm_set_up_as_badly_as_it_will_start(
    bad_slurm: PrivateSlurm, doctor: Doctor, tmp_path: Path
) -> None:
    status, findings = doctor(bad_slurm.env, GIVEWAY_SUBMIT_RULES=str(tmp_path / "rules"))
    assert status == 1
    said = dict(
        f["what"].replace("=", " ").replace(":", " ").split(" ", 1)
        for f in findings
        if f["check"] == "slurm.conf"
    )
    by_name = {
        f["what"].replace("=", " ").replace(":", " ").split()[0]: f["level"]
        for f in findings
        if f["check"] == "slurm.conf"
    }
    assert by_name == {
        "JobRequeue": "FAIL",
        "Slurm": "FAIL",
        "SelectType": "OK",
        "PriorityType": "WARN",
        "MinJobAge": "FAIL",
        "SchedulerParameters": "WARN",
        "CompleteWait": "WARN",
        "GIVEWAY_SUBMIT_RULES": "WARN",
        "KillWait": "FAIL",
    }
    assert "PreemptType=preempt/partition_prio" in " ".join(f["what"] for f in findings)
    assert said["KillWait"].startswith("300 s")
    assert all(f["fix"] for f in findings if f["level"] != "OK")


@pytest.fixture
def as_ann(bad_slurm: PrivateSlurm) -> Iterator[dict[str, str]]:
    """A PATH on which Slurm's commands run as ann, so that slurmctld sees her credential."""
    entry, folder = pwd.getpwnam("ann"), new_root()
    path = bad_slurm.env.get("PATH", os.environ["PATH"])
    for name in checkup.PROGRAMS:
        wrapper = folder / name
        become = f"setpriv --reuid={entry.pw_uid} --regid={entry.pw_gid} --clear-groups"
        program = shutil.which(name, path=path)
        wrapper.write_text(f'#!/bin/sh\nexec {become} {program} "$@"\n')
        wrapper.chmod(0o755)
    yield {"PATH": f"{folder}:{path}"}
    shutil.rmtree(folder)


def test_asking_for_the_rights_changes_nothing(bad_slurm: PrivateSlurm, as_ann: dict[str, str]) -> None:
    found = look({**os.environ, **bad_slurm.env, **as_ann})
    assert (found.operator, found.fault) == (False, "")
    assert "Invalid user id" in found.refusal or "denied" in found.refusal
    assert look({**os.environ, **bad_slurm.env}).operator is True
    assert "giveway-doctor" not in bad_slurm.run(["scontrol", "show", "reservations"]).stdout


def test_an_ordinary_user_is_told(bad_slurm: PrivateSlurm, as_ann: dict[str, str], doctor: Doctor) -> None:
    """PrivateData=jobs there: what she does not see, she would take for room."""
    _, findings = doctor({**bad_slurm.env, **as_ann})
    rights = [f for f in findings if f["check"] == "rights"]
    assert [f["level"] for f in rights] == ["FAIL", "FAIL"]
    assert "SlurmUser is root(0)" in rights[0]["what"] and "adminlevel=operator" in rights[0]["fix"]
    assert "full nodes look empty" in rights[1]["what"]


def test_clocks_an_hour_apart(bad_slurm: PrivateSlurm, monkeypatch: pytest.MonkeyPatch) -> None:
    real = time.time
    monkeypatch.setattr(time, "time", lambda: real() - 3600)
    assert abs(look({**os.environ, **bad_slurm.env}).skew_s - 3600) <= 30


def test_a_slurmctld_that_is_gone(slurm_root: Path, slurm_release: str, doctor: Doctor) -> None:
    with PrivateSlurm(slurm_root, nodes=1, version=slurm_release) as slurm:
        slurm.stop_daemon("slurmctld")
        status, findings = doctor(slurm.env, GIVEWAY_SLURM_TIMEOUT_S=8)
    assert status == 1
    assert levels(findings, "commands")[0][0] == "OK"
    ((level, _),) = levels(findings, "slurmctld")
    assert level == "FAIL"
    told = next(f for f in findings if f["check"] == "slurmctld")
    assert "scontrol ping" in told["fix"]
    assert levels(findings, "rights") == levels(findings, "slurm.conf") == []


def test_a_slurm_conf_that_is_not_there(private_slurm: PrivateSlurm, doctor: Doctor, tmp_path: Path) -> None:
    _, findings = doctor({**private_slurm.env, "SLURM_CONF": str(tmp_path / "nowhere.conf")})
    told = next(f for f in findings if f["check"] == "slurmctld")
    assert told["level"] == "FAIL" and "nowhere.conf, which is not there" in told["what"]


def test_no_slurm_on_path(tmp_path: Path) -> None:
    """As a process of its own, with the settings from its environment."""
    ours = {
        "GIVEWAY_CLUSTER": "slurm",
        "GIVEWAY_HOME": str(tmp_path),
        "DATABASE_URL": f"sqlite:///{tmp_path}/db.sqlite3",
        "DJANGO_SETTINGS_MODULE": "console.settings.test",
    }
    done = subprocess.run(
        [sys.executable, "manage.py", "doctor", "--json"],
        cwd=ROOT,
        env={**os.environ, **ours, "PATH": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.stdout, done.stderr
    findings = json.loads(done.stdout)["findings"]
    assert ("FAIL", "Not on PATH") in levels(findings, "commands")
    assert [level for level, _ in levels(findings, "slurmctld")] == ["FAIL"]
