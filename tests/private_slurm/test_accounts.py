"""A private Slurm with a slurmdbd: on loopback, thrown away with the next start, and gone with the rest."""

import os
import pwd
import subprocess
from math import inf
from pathlib import Path
from unittest.mock import Mock

import pytest

from deploy.private_slurm import Accounting, PrivateSlurm, PrivateSlurmError, accounting, host, releases
from tests.plugins.private_slurm import OPERATOR, need_accounting, operated_slurm
from tests.private_slurm import processes

QOS = {"low": {"Priority": "1"}, "high": {"Priority": "9", "Preempt": "low"}}


@pytest.mark.slurm
@pytest.mark.every_release
def test_it_listens_on_loopback_and_leaves_no_process(slurm_root: Path, slurm_release: str) -> None:
    need_accounting(slurm_release)
    slurm = PrivateSlurm(
        slurm_root, nodes=1, gpus=1, version=slurm_release, accounts=Accounting(QOS, "associations,qos")
    )
    for _ in range(2):
        with slurm:
            ours = processes.all_of(slurm)
            assert {"mariadbd", "slurmdbd"} <= slurm.daemons().keys()
            told = slurm.run(["scontrol", "show", "config"]).stdout
            port = next(
                int(line.split("=")[1]) for line in told.splitlines() if "AccountingStoragePort" in line
            )
            assert host.listens(port) and _addresses(port) == {"0100007F"}
            assert not slurm.run(["sacct", "--allusers", "--noheader"]).stdout
            slurm.wait_for_state(slurm.submit("ann", "-n1", "--qos=high", script="#!/bin/sh\n"), "")

        assert not processes.alive(ours) and not host.listens(port)


@pytest.mark.slurm
def test_it_leaves_the_temporary_tables_of_another_database_alone(
    tmp_path: Path, slurm_root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """MariaDB removes what looks like its own where it starts; in a common /tmp that was another one's."""
    need_accounting("system")
    theirs = tmp_path / "#sql-temptable-1-1-1.MAI"
    theirs.touch()
    monkeypatch.setenv("TMPDIR", str(tmp_path))

    with PrivateSlurm(slurm_root, nodes=1, accounts=Accounting()):
        assert theirs.exists()


@pytest.mark.slurm
@pytest.mark.every_release
def test_an_operator_steers_the_jobs_of_others_and_is_limited(slurm_root: Path, slurm_release: str) -> None:
    one_in_two_seconds = "rl_enable,rl_bucket_size=1,rl_refill_rate=1,rl_refill_period=2"
    slurm = operated_slurm(slurm_root / "slurm", slurm_release, one_in_two_seconds, nodes=1, gpus=0)
    with slurm:
        jobs = [str(slurm.submit("ann", "-n1", "--mem=10")) for _ in range(3)]
        for job in jobs:
            slurm.wait_for_state(job, "RUNNING")
        theirs = slurm.run(["scontrol", "requeuehold", jobs[0]], "bob", check=False)
        assert "Access/permission denied" in theirs.stderr

        slurm.run(["runuser", "-u", OPERATOR, "--", "scontrol", "requeuehold", ",".join(jobs)])
        for job in jobs:
            slurm.wait_for_state(job, "PENDING")
        limited = f"RPC rate limit exceeded by uid {pwd.getpwnam(OPERATOR).pw_uid}"
        has_limits = slurm_release in releases.SUITES  # 22.05 has none
        assert (limited in (slurm.logs / "slurmctld.log").read_text()) == has_limits
        assert slurm.squeue("%r") == ["job requeued in held state"] * 3

        env = {**os.environ, **slurm.make_commands(slurm_root / "commands", OPERATOR)}
        sbatch = ["sbatch", "--parsable", "--hold", "--chdir=/", "-n1", "--mem=10", "--wrap=true"]
        job = subprocess.run(sbatch, env=env, capture_output=True, text=True, check=True).stdout.strip()
        assert slurm.squeue("%u", "-j", job) == [OPERATOR]
        drain = ["scontrol", "update", "NodeName=n1", "State=DRAIN", "Reason=x"]
        refused = subprocess.run(drain, env=env, capture_output=True, text=True, check=False)
        assert "Invalid user id" in refused.stderr, "that takes an administrator"


def _addresses(port: int) -> set[str]:
    rows = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    return {address for row in rows if row[3] == "0A"
            for address, number in [row[1].split(":")] if int(number, 16) == port}  # fmt: skip


def test_everybody_may_use_every_qos() -> None:
    told = Accounting(QOS).commands("dev", ("ann",))

    assert told[0] == ("add", "cluster", "dev")
    assert ("modify", "qos", "high", "set", "Priority=9", "Preempt=low") in told
    assert told[-2:] == [
        ("add", "user", user, "Account=all", "QOS=normal,low,high") for user in ("ann", "root")
    ]


def test_a_release_that_was_unpacked_without_it_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "deploy.private_slurm.accounting.shutil.which", lambda name, path: f"/usr/sbin/{name}"
    )
    (tmp_path / "usr/lib/any/slurm-wlm").mkdir(parents=True)

    assert "deploy/bin/slurm-versions 24.11" in str(
        accounting.unavailable_reason(releases.Release("24.11", tmp_path))
    )


def test_what_is_missing_is_named_before_anything_is_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("deploy.private_slurm.accounting.shutil.which", lambda name, path: None)
    monkeypatch.setattr(PrivateSlurm, "unavailable_reason", staticmethod(lambda: None))

    with pytest.raises(PrivateSlurmError, match="mariadb-server-core mariadb-client-core"):
        PrivateSlurm(tmp_path, accounts=Accounting()).start()


@pytest.mark.parametrize(("said", "tries"), [(accounting.UNANSWERED, 3), ("There is no such option", 1)])
def test_slurmdbd_is_asked_again_only_where_it_does_not_answer_yet(
    monkeypatch: pytest.MonkeyPatch, said: str, tries: int
) -> None:
    monkeypatch.setattr(accounting, "PAUSE_S", 0)
    run = Mock(side_effect=[PrivateSlurmError(said), PrivateSlurmError(said), None])
    if tries == 1:
        with pytest.raises(PrivateSlurmError, match=said):
            accounting.tell(run, ["sacctmgr"], inf)
    else:
        accounting.tell(run, ["sacctmgr"], inf)
    assert run.call_count == tries
