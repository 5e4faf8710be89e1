"""The shipped job_submit script in a real slurmctld, with the file that the worker writes."""

import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from pytest_django import Settings

from console.partitions.services import ensure_partition
from deploy.private_slurm import PrivateSlurm
from tests.e2e.slurm_driver import Driver, attached
from tests.plugins.private_slurm import new_root
from tests.steering.submit_script import RING, SCRIPT, hang_bell, has_rung, silence

pytestmark = [
    pytest.mark.slurm,
    pytest.mark.every_release,
    pytest.mark.e2e,
]

LEVELS = [{"name": "P0", "keyword": "p0", "keyword_users": ["bob", "c*"]}, {"name": "P1", "keyword": "p1"}]
REFUSING = {"levels": LEVELS, "keyword_denied": "refuse", "over_quota": "reject", "quotas": {"P1": 1}}
NAP = "#!/bin/sh\nsleep 600\n"


@pytest.fixture(scope="module")
def slurm(slurm_release: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[PrivateSlurm]:
    """Two nodes, with both scripts installed as docs/job-submit.md says."""
    ring = tmp_path_factory.mktemp("etc") / "giveway-ring"
    slurm = PrivateSlurm(
        new_root(), nodes=2, job_submit=SCRIPT, version=slurm_release, remove_root=True,
        options={"EpilogSlurmctld": str(ring)},
    )  # fmt: skip
    ring.write_text(RING.read_text().replace("/var/lib/giveway/submit-rules", str(slurm.submit_rules)))
    ring.chmod(0o755)
    with slurm:
        yield slurm


@pytest.fixture
def driver(
    db: None, slurm: PrivateSlurm, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Driver]:
    """A console attached to it, which writes the rules."""
    slurm.clear()
    remove(slurm.submit_rules)
    Path(f"{slurm.submit_rules}.bell").unlink(missing_ok=True)
    settings.GIVEWAY_SUBMIT_RULES = str(slurm.submit_rules)
    with attached(slurm, settings, monkeypatch) as driver:
        yield driver
    slurm.clear()


def remove(path: Path) -> None:
    shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)


def sbatch(driver: Driver, user: str | None, name: str, *args: str) -> subprocess.CompletedProcess[str]:
    """What a user types, whatever comes of it."""
    argv = ["sbatch", "--parsable", "-J", name, "-n", "1", "--mem=10", *args]
    return driver.slurm.run(argv, user, stdin=NAP, check=False)


def log(driver: Driver) -> str:
    """slurmctld's log."""
    return (driver.slurm.logs / "slurmctld.log").read_text(errors="replace")


def test_refused_with_the_reason_before_slurms_error(driver: Driver) -> None:
    driver.policy("x", **REFUSING)
    driver.steer()
    said = sbatch(driver, "ann", "p0_eval", "-p", "x")
    assert said.returncode == 1
    assert said.stderr.splitlines() == [
        (
            "sbatch: error: giveway: the keyword p0 of partition x is not ann's to use (it is for: bob, c*); "
            "give the job another name"
        ),
        "sbatch: error: Batch job submission failed: Access/permission denied",
    ]
    for user, name in (("bob", "p0_eval"), ("cy", "p0_eval"), ("ann", "p0eval"), ("ann", "p1_eval")):
        said = sbatch(driver, user, name, "-p", "x")
        assert (said.returncode, said.stderr) == (0, ""), (user, name)


def test_whoever_submits_it_is_the_jobs_user_who_counts(driver: Driver) -> None:
    driver.policy("x", **REFUSING)
    driver.steer()
    assert sbatch(driver, None, "p0_eval", "-p", "x", "--uid=ann").returncode == 1
    assert sbatch(driver, None, "p0_eval", "-p", "x", "--uid=bob").returncode == 0


def test_srun_salloc_arrays_het_jobs_and_several_partitions_are_refused_alike(driver: Driver) -> None:
    driver.policy("x", **REFUSING)
    driver.policy("wide", **REFUSING | {"enforcement": "shadow"})
    driver.steer()
    for argv in (
        ["srun", "-p", "x", "-J", "p0_a", "true"],
        ["salloc", "-p", "x", "-J", "p0_a", "true"],
        ["sbatch", "-p", "x", "-J", "p0_a", "--array=0-3"],
        ["sbatch", "-p", "wide,x", "-J", "p0_a"],
        ["sbatch", "-p", "x", "-J", "fine", ":", "-p", "x", "-J", "p0_a"],
    ):
        said = driver.slurm.run(argv, "ann", stdin=NAP, check=False)
        assert said.returncode != 0, argv
        assert "the keyword p0 of partition x is not ann's to use" in said.stderr, argv
    assert sbatch(driver, "ann", "p0_a", "-p", "wide").returncode == 0, "in shadow nobody is touched"
    assert sbatch(driver, "ann", "p0_a").returncode == 0, "the default partition is wide"
    driver.policy("wide", **REFUSING)
    driver.steer()
    assert "partition wide" in sbatch(driver, "ann", "p0_a").stderr


def test_demoted_with_a_word_and_the_worker_gives_it_no_level(driver: Driver) -> None:
    driver.policy("x", levels=LEVELS)
    driver.steer()
    said = sbatch(driver, "ann", "p0_eval", "-p", "x")
    assert said.returncode == 0
    assert said.stderr.strip().endswith("(it is for: bob, c*); it counts for nothing")
    driver.steer()
    row = driver.cluster.jobs.get(job_id=said.stdout.strip())
    assert row.task_level is None
    assert row.task_origin == "keyword p0 is not ann's to use; nothing configured"


def test_over_quota_is_refused_with_the_numbers_once_the_worker_has_counted(driver: Driver) -> None:
    driver.policy("x", **REFUSING)
    driver.steer()
    driver.running("ann", "p1_first", "-p", "x", "-n", "1", "--mem=10")
    driver.steer()
    said = sbatch(driver, "ann", "p1_second", "-p", "x")
    assert said.returncode == 1
    assert "ann has 1 jobs of level P1 running in partition x, and the quota is 1" in said.stderr
    assert sbatch(driver, "bob", "p1_second", "-p", "x").returncode == 0
    driver.cancel("p1_first")
    driver.slurm.wait_for_state(driver.ids["p1_first"], "")
    driver.steer()
    assert sbatch(driver, "ann", "p1_third", "-p", "x").returncode == 0


def test_a_job_is_not_renamed_into_a_keyword_later(driver: Driver) -> None:
    driver.policy("x", **REFUSING)
    driver.steer()
    job = driver.submit("ann", "harmless", "-p", "x", "-n", "1", "--mem=10", "--hold")
    said = driver.slurm.run(["scontrol", "update", f"JobId={job}", "JobName=p0_x"], "ann", check=False)
    assert said.returncode == 1
    assert "Access/permission denied" in said.stderr
    assert "the keyword p0 of partition x is not ann's to use" in log(driver)
    fine = driver.slurm.run(["scontrol", "update", f"JobId={job}", "JobName=other", "Comment=x"], "ann")
    assert fine.returncode == 0
    assert driver.slurm.squeue("%j", "-j", job) == ["other"]


def test_what_the_worker_does_to_jobs_is_let_through(driver: Driver) -> None:
    """Hold, priority, requeue, release: none of it is a submission, even of a job that would be refused today."""
    driver.policy("x", levels=LEVELS, user_overrides={"ann": "P1", "bob": "P0"}, mode="user")
    one_node = ("-p", "x", "-N", "1", "-n", "1", "-c", "8")
    low = driver.running("ann", "p0_low", *one_node)
    driver.policy("x", **REFUSING, user_overrides={"ann": "P1", "bob": "P0"}, mode="user")
    driver.submit("bob", "high", *one_node)
    driver.steer_until_running("high")
    driver.steer_until_settled()
    assert driver.stopped() == {"p0_low"}
    assert driver.slurm.states()[low] == "PENDING"


BROKEN = {
    "missing": lambda path: path.unlink(),
    "a folder": lambda path: (path.unlink(), path.mkdir()),
    "empty": lambda path: path.write_text(""),
    "cut short": lambda path: path.write_text(path.read_text()[:-20]),
    "garbage": lambda path: path.write_bytes(bytes(range(256)) * 100),
    "old": lambda path: path.write_text(path.read_text().replace("written 1", "written 0")),
}


@pytest.mark.parametrize("how", list(BROKEN))
def test_a_file_that_is_of_no_use_lets_everything_through_and_is_in_the_log(driver: Driver, how: str) -> None:
    driver.policy("x", **REFUSING)
    driver.steer()
    assert sbatch(driver, "ann", "p0_a", "-p", "x").returncode == 1
    before = log(driver).count("let through unchecked")
    BROKEN[how](driver.slurm.submit_rules)
    for _ in range(3):
        said = sbatch(driver, "ann", "p0_a", "-p", "x")
        assert (said.returncode, said.stderr) == (0, "")
    assert log(driver).count("let through unchecked") == before + 1, "told once"
    remove(driver.slurm.submit_rules)
    driver.steer()
    assert sbatch(driver, "ann", "p0_a", "-p", "x").returncode == 1
    assert "is read again" in log(driver).rpartition("let through unchecked")[2]


def test_a_thousand_lines_replaced_under_a_stream_of_submissions(driver: Driver, settings: Settings) -> None:
    """Whatever a submission meets, it is the old file or the new one: never neither."""
    settings.GIVEWAY_LIMITS = {**settings.GIVEWAY_LIMITS, "overrides": 1000}
    many = {f"user{n}_*": "P1" for n in range(1000)}
    driver.policy("x", **REFUSING, task_overrides=many)
    driver.steer()
    rules = driver.slurm.submit_rules
    assert len(rules.read_text().splitlines()) > 1000
    unchecked = log(driver).count("let through unchecked")
    for _ in range(50):
        fresh = rules.with_suffix(".new")
        shutil.copyfile(rules, fresh)
        fresh.replace(rules)
        assert sbatch(driver, "ann", "p0_a", "-p", "x").returncode == 1
    assert log(driver).count("let through unchecked") == unchecked
    assert any(_refusal_s(driver) < 0.5 for _ in range(100)), "the quickest, on a machine that may be busy"


def _refusal_s(driver: Driver) -> float:
    started = time.monotonic()
    assert sbatch(driver, "ann", "p0_a", "-p", "x").returncode == 1
    return time.monotonic() - started


def test_a_partition_the_file_does_not_know_is_let_through(driver: Driver) -> None:
    driver.policy("x", **REFUSING)
    driver.steer()
    ensure_partition(cluster=driver.cluster, name="q")
    assert sbatch(driver, "ann", "p0_a", "-p", "q").returncode == 0


def test_a_new_script_is_loaded_at_once_and_a_broken_one_not_at_all(driver: Driver) -> None:
    driver.policy("x", **REFUSING)
    driver.steer()
    installed = driver.slurm.root / "job_submit.lua"
    text = installed.read_text()
    try:
        time.sleep(1.1)  # slurmctld tells a new script by its time, in seconds
        installed.write_text(text.replace("give the job another name", "call it something else"))
        assert "call it something else" in sbatch(driver, "ann", "p0_a", "-p", "x").stderr
        time.sleep(1.1)
        installed.write_text("this is no Lua")
        assert "call it something else" in sbatch(driver, "ann", "p0_a", "-p", "x").stderr
    finally:
        time.sleep(1.1)
        installed.write_text(text)


def test_the_bell_rings_at_a_submission_and_a_change_and_the_job_is_there(driver: Driver) -> None:
    driver.policy("x", **REFUSING)
    driver.steer()
    bell = hang_bell(driver.slurm.submit_rules)
    assert sbatch(driver, "ann", "p0_a", "-p", "x").returncode == 1
    assert not has_rung(bell)
    job = sbatch(driver, "ann", "fine", "-p", "x", "--hold").stdout.strip()
    assert has_rung(bell)
    assert job in driver.slurm.states()
    for words in (
        ("update", f"JobId={job}", "Comment=x"),
        ("update", f"JobId={job}", "TimeLimit=5"),
        ("hold", job),
        ("release", job),
    ):
        silence(bell)
        driver.slurm.run(["scontrol", *words], "ann")
        assert has_rung(bell), words


def test_the_bell_rings_when_a_run_ends_whoever_ends_it(driver: Driver) -> None:
    bell = hang_bell(driver.slurm.submit_rules)
    let_go = driver.slurm.work / "ann" / "let-go"
    let_go.unlink(missing_ok=True)
    waits = "#!/bin/sh\nwhile [ ! -e let-go ]; do sleep 0.1; done\n"
    for name, end in (
        ("cancelled", lambda job: driver.slurm.run(["scancel", job])),
        ("requeued", lambda job: driver.slurm.run(["scontrol", "requeuehold", job])),
        ("done", lambda _: let_go.touch()),
    ):
        job = driver.running("ann", name, "-p", "x", "-n", "1", "--mem=10", script=waits)
        silence(bell)
        end(job)
        driver.slurm.wait_until(lambda: has_rung(bell), f"the bell to ring when a job is {name}")


def test_without_a_bell_nobody_is_told_anything(driver: Driver) -> None:
    driver.policy("x", **REFUSING)
    driver.steer()
    sbatch(
        driver, "ann", "first", "-p", "x"
    )  # the rules may have been away before: it tells that they are back
    before = log(driver).count("giveway: ")
    said = sbatch(driver, "ann", "fine", "-p", "x")
    assert (said.returncode, said.stderr) == (0, "")
    assert log(driver).count("giveway: ") == before
    assert not Path(f"{driver.slurm.submit_rules}.bell").exists()


TYPES = [{"pattern": "TRAIN*", "cpus": 2, "gpus": 1, "memory_mb": 50, "time_s": 600}]


def told(driver: Driver, name: str, *args: str) -> tuple[dict[str, str], str]:
    """What Slurm made of a submission that says no more than this, and what the user was told."""
    done = driver.slurm.run(["sbatch", "--parsable", "-J", name, *args], "ann", stdin=NAP)
    shown = driver.slurm.run(["scontrol", "-o", "show", "job", done.stdout.strip()]).stdout
    return dict(word.split("=", 1) for word in shown.split() if "=" in word), done.stderr


def test_what_a_request_leaves_out_is_filled_in_and_the_user_is_told(driver: Driver) -> None:
    driver.policy("x", levels=LEVELS, task_types=TYPES)
    driver.steer()
    job, words = told(driver, "TRAIN_7", "-p", "x")
    assert (job["CPUs/Task"], job["MinMemoryNode"], job["TimeLimit"]) == ("2", "50M", "00:10:00")
    assert job["NumCPUs"].startswith("2")
    assert job["TresPerNode"].endswith("gpu:1")
    assert "giveway: task type TRAIN*: 2 CPUs, 1 GPUs, 50 MB, 10 minutes filled in" in words


def test_what_the_user_says_comes_first(driver: Driver) -> None:
    driver.policy("x", levels=LEVELS, task_types=TYPES)
    driver.steer()
    job, words = told(driver, "TRAIN_8", "-p", "x", "-n", "3", "--gres=gpu:2", "--mem=20", "-t", "5")
    assert (job["CPUs/Task"], job["MinMemoryNode"], job["TimeLimit"]) == ("1", "20M", "00:05:00")
    assert job["TresPerNode"].endswith("gpu:2")
    assert "task type" not in words
    other, words = told(driver, "other", "-p", "x")
    assert (other["CPUs/Task"], "task type" in words) == ("1", False)
    part, words = told(driver, "TRAIN_9", "-p", "x", "--gpus=1", "-c", "1")
    assert (part["CPUs/Task"], part["TimeLimit"]) == ("1", "00:10:00")
    assert "50 MB, 10 minutes filled in" in words
    assert "GPUs" not in words
