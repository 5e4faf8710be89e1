"""The file for slurmctld's job_submit plugin: what stands in it, and that it is whole, whatever happens."""

import os
import pwd
import stat
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
import structlog
from django.utils import translation
from pytest_django import Settings

from console.core import clock
from console.core.translate import resay
from console.health.doctor import work
from console.health.doctor.findings import Level
from console.steering.operations.pausing import pause
from console.steering.recording import submit_rules
from console.steering.recording.submit_rules import fault_of_rules, rules_text
from scheduler.model.policy import LevelRule, PartitionPolicy
from tests.steering.conftest import START, Sim
from tests.steering.submit_script import DENIED, OVER_QUOTA, SUCCESS, SubmitScript

KEYWORDS = [
    {"name": "P0", "keyword": "p0", "keyword_users": ["bob", "eval *"]},
    {"name": "P 1", "keyword": "p1-long"},
    {"name": "P2"},
]
RULES: dict[str, Any] = {
    "user_overrides": {"ann": "P2", "bob": "P 1", "cy": "P0"},
    "levels": KEYWORDS,
    "quotas": {"P0": 1, "P 1": 4},
    # The plugin cannot know what a job will hold: of these there is nothing in the file.
    "quota_amounts": {"P0": {"gpu": 4}},
    "quota_totals": {"P0": {"cpu": 64}},
    "over_quota": "reject",
    "keyword_denied": "refuse",
    "task_overrides": {"a*": "P2", "release_*": "P0", "50%\n": "P2"},
}


@pytest.fixture
def path(tmp_path: Path, settings: Settings) -> Path:
    """Where the file is to be."""
    settings.GIVEWAY_SUBMIT_RULES = str(tmp_path / "rules")
    return tmp_path / "rules"


@pytest.mark.parametrize(
    ("users", "told"), [(None, "keyword p0 0"), ((), "keyword p0 0 :"), (("ann",), "keyword p0 0 ann")]
)
def test_a_keyword_of_nobodys_is_no_open_one(users: tuple[str, ...] | None, told: str) -> None:
    """The file has had no word for nobody: a name that no user can have stands for it, so that old scripts obey."""
    policy = PartitionPolicy("x", levels=(LevelRule("P0", None, "p0", users),))
    assert [line for line in submit_rules.partition_lines(policy, []) if line.startswith("keyword")] == [told]


def test_without_the_setting_nothing_is_written(sim: Sim, settings: Settings, tmp_path: Path) -> None:
    assert settings.GIVEWAY_SUBMIT_RULES == ""
    sim.policy(**RULES)
    sim.cycle()
    assert list(tmp_path.iterdir()) == []
    assert fault_of_rules(START) == ""


def test_everything_that_the_plugin_needs_stands_in_the_file(sim: Sim, path: Path) -> None:
    sim.policy(**RULES)
    for user, name in (
        ("bob", "p0_a"),
        ("cy", "p1-long"),
        ("cy", "p1-long_b"),
        ("ann", "p0_mine"),
        ("ann", "x"),
    ):
        sim.running(user, 1, name=name)
    sim.submit("bob", 8, name="p0_waits")
    sim.cycle()
    lines = path.read_text().splitlines()
    assert lines[:4] == ["giveway-submit-rules 1", f"written {sim.port.now}", "valid 600", "cluster dev"]
    at = lines.index("partition x enforce requeueable")
    assert lines[at : at + 16] == [
        "partition x enforce requeueable",
        "level 0 P0",
        "level 1 P%201",
        "level 2 P2",
        "keyword p1-long 1",
        "keyword p0 0 bob eval%20*",
        "denied refuse",
        "override release_* 0",
        "override 50%25%0A 2",
        "override a* 2",
        "over_quota reject",
        "quota 0 1",
        "quota 1 4",
        "running bob 0 1",
        "running cy 1 2",
        lines[at + 15],
    ]
    assert lines[at + 15].startswith(("partition ", "end "))
    assert lines[-1] == f"end {len(lines) - 1}"
    assert stat.S_IMODE(path.stat().st_mode) == 0o644
    assert fault_of_rules(sim.port.now) == ""


def test_the_file_is_left_alone_while_it_says_the_same_and_renewed_every_minute(sim: Sim, path: Path) -> None:
    sim.policy(**RULES)
    sim.cycle()
    first = path.stat()
    sim.cycles(5)
    assert path.stat().st_ino == first.st_ino, "not even replaced by the same"
    sim.port.advance(60)
    sim.cycle()
    assert path.read_text().splitlines()[1] == f"written {sim.port.now}"
    sim.running("bob", 1, name="p0_a")
    renewed = path.read_text()
    sim.cycle()
    assert path.read_text() != renewed
    assert "running bob 0 1\n" in path.read_text()


def test_a_changed_policy_counts_at_the_next_cycle(sim: Sim, path: Path) -> None:
    sim.policy(**RULES)
    sim.cycle()
    assert "denied refuse" in path.read_text()
    sim.policy(**{**RULES, "keyword_denied": "demote", "enforcement": "shadow"})
    sim.cycle()
    assert "denied refuse" not in path.read_text()
    assert "partition x shadow" in path.read_text()


@pytest.mark.parametrize(
    "text", ["", "garbage", "giveway-submit-rules 1\nwritten", rules_text([], START)[:-3]]
)
def test_a_spoilt_file_is_replaced_at_once(sim: Sim, path: Path, text: str) -> None:
    sim.policy(**RULES)
    path.write_text(text)
    assert "is not whole" in fault_of_rules(START)
    sim.cycle()
    assert fault_of_rules(sim.port.now) == ""


def test_a_file_from_the_future_is_written_anew(sim: Sim, path: Path) -> None:
    sim.policy(**RULES)
    sim.port.advance(3600)
    sim.cycle()
    sim.port.state.now -= 3600
    sim.cycle()
    assert path.read_text().splitlines()[1] == f"written {sim.port.now}"


def test_what_a_reader_has_open_stays_whole(sim: Sim, path: Path) -> None:
    sim.policy(**RULES)
    sim.cycle()
    before = path.read_text()
    with path.open() as reader:
        sim.running("bob", 1, name="p0_a")
        sim.cycle()
        assert reader.read() == before
    assert path.read_text() != before
    assert [each.name for each in path.parent.iterdir()] == ["rules"], "nothing else is left behind"


@pytest.mark.parametrize("step", ["fsync", "fchmod"])
def test_a_write_that_fails_leaves_the_old_file_and_no_other(
    sim: Sim, path: Path, step: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    sim.policy(**RULES)
    sim.cycle()
    before = path.read_text()

    def full_disk(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, step, full_disk)
    sim.running("bob", 1, name="p0_a")
    sim.cycle()
    assert path.read_text() == before
    assert [each.name for each in path.parent.iterdir()] == ["rules"]


@pytest.fixture
def logged() -> Iterator[list[Any]]:
    with structlog.testing.capture_logs() as entries:
        yield entries


def test_a_file_that_cannot_be_written_is_logged_once_and_stops_nothing(
    sim: Sim, path: Path, settings: Settings, logged: list[Any]
) -> None:
    settings.GIVEWAY_SUBMIT_RULES = str(path / "nowhere" / "rules")
    sim.policy(**RULES)
    low = sim.running("ann", 8)
    high = sim.submit("cy", 8)
    sim.cycles(4)
    assert sim.port.job(high).state == "running"
    assert sim.port.job(low).restarts == 1
    said = [entry for entry in logged if entry["event"] == "submit rules cannot be written"]
    assert [(entry["log_level"], entry["cluster"]) for entry in said] == [("warning", "dev")]
    assert "No such file or directory" in said[0]["fault"]
    assert "cannot be read" in fault_of_rules(sim.port.now)


def test_what_is_wrong_with_the_file_is_told_in_words(sim: Sim, path: Path) -> None:
    assert f"{path} cannot be read" in fault_of_rules(START)
    sim.policy(**RULES)
    sim.cycle()
    assert fault_of_rules(sim.port.now + 120) == ""
    assert "was written 121 s ago" in fault_of_rules(sim.port.now + 121)
    path.chmod(0o600)
    assert "slurmctld may run under another one" in fault_of_rules(sim.port.now)


def test_the_doctor_tells_of_the_file(sim: Sim, path: Path, settings: Settings) -> None:
    (missing,) = work.check_submit_rules()
    assert missing.level is Level.WARN
    assert "Submissions are not checked" in missing.what and "cannot be read" in missing.what
    with translation.override("zh-hans"):
        assert resay(missing.what).startswith(f"没有检查提交的作业：{path} 无法读取：")
    sim.policy(**RULES)
    sim.cycle()
    (fine,) = work.check_submit_rules()
    assert fine.level is Level.OK
    settings.HOME = path.parent
    (closed,) = work.check_submit_rules()
    assert closed.level is Level.WARN and f"{path} is in {path.parent}, which nobody but" in closed.what
    settings.GIVEWAY_SUBMIT_RULES = ""
    assert list(work.check_submit_rules()) == []


def test_while_slurm_cannot_be_observed_the_file_grows_old(sim: Sim, path: Path) -> None:
    sim.policy(**RULES)
    sim.cycle()
    before = path.read_text()
    sim.port.faults.unavailable = "slurmctld is away"
    sim.port.advance(700)
    sim.cycle()
    assert path.read_text() == before


def test_slurmctlds_script_reads_what_the_worker_writes(
    sim: Sim, path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sim.policy(**RULES)
    with SubmitScript(path, tmp_path) as script:
        sim.cycle()
        script.time(sim.port.now)
        assert script.submit("ann", "p0_x").answer == DENIED
        assert script.submit("eval 7", "p0_x").answer == SUCCESS
        assert script.submit("bob", "p0_x").answer == SUCCESS
        sim.running("bob", 1, name="p0_a")
        sim.cycle()
        assert script.submit("bob", "p0_x").answer == OVER_QUOTA
        assert script.submit("bob", "release_1").answer == OVER_QUOTA
        assert script.submit("ann", "50%\n").answer == SUCCESS
        monkeypatch.setattr(clock, "now", lambda: clock.from_epoch(sim.port.now))
        script.time(sim.port.now + submit_rules.VALID_S + 1)
        assert script.submit("ann", "p0_x").answer == SUCCESS


TYPES = [
    {"pattern": "TRAIN *", "cpus": 8, "gpus": 2, "memory_mb": 64000, "time_s": 90},
    {"pattern": "elastic only", "elastic_min": 2},
]


@pytest.mark.parametrize(
    ("software", "word"),
    [
        ("slurm 22.05.8", "gres:gpu"),
        ("slurm 24.11.5", "gres/gpu"),
        ("slurm 23.11.4", "-"),
        ("simulator", "-"),
    ],
)
def test_task_types_stand_where_older_scripts_do_not_look(
    sim: Sim, path: Path, software: str, word: str
) -> None:
    sim.policy(task_types=TYPES)
    sim.cycle()
    sim.cluster.software = software
    sim.cluster.save()
    sim.cycle()
    lines = [line for line in path.read_text().splitlines() if " type " in line]
    assert lines == [f"cluster dev type x TRAIN%20* 8 2 64000 2 {word}"]
    sim.policy(task_types=TYPES, enforcement="shadow")
    sim.cycle()
    assert " type " not in path.read_text()


def test_the_release_counts_from_the_first_cycle_on_and_after_an_upgrade(
    sim: Sim, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def is_release(version: str) -> None:
        told = replace(sim.port.describe(), kind="slurm", version=version)
        monkeypatch.setattr(sim.port, "describe", lambda: told)

    sim.policy(task_types=TYPES)
    is_release("22.05.8")
    sim.cycle()
    assert " gres:gpu\n" in path.read_text()
    is_release("24.11.5")
    sim.port.faults.unavailable = "slurmctld is away"
    sim.cycle()
    sim.port.faults.unavailable = ""
    sim.cycle()
    assert " gres/gpu\n" in path.read_text()


def test_who_is_to_be_placed_stands_there_too_where_it_would_be_done(sim: Sim, path: Path) -> None:
    rule = {"resource": "cpu", "max_distance": 0.5}

    def places() -> list[str]:
        sim.cycle()
        return [line for line in path.read_text().splitlines() if " place " in line]

    sim.policy(balance=rule)
    assert places() == [], "nothing is measured"
    for node in sim.port.state.nodes.values():
        node.power = {"cpu": 1.0}
    assert places() == ["cluster dev place x all 20"]
    types = [{"pattern": "MPI *", "balanced": True}, {"pattern": "OTHER*", "cpus": 1}]
    sim.policy(balance={**rule, "applies_to": "asked"}, task_types=types)
    assert places() == ["cluster dev place x asked 20 MPI%20*"]
    sim.policy(balance=rule, enforcement="approve")
    assert places() == []
    sim.policy(balance=rule)
    pause(actor="dave", cluster=sim.cluster, reason="Test.")
    assert places() == []


def test_where_it_measures_the_plugin_is_told_how_its_measurements_are_known(
    sim: Sim, path: Path, settings: Settings
) -> None:
    sim.policy(**RULES)
    sim.cycle()
    assert " measures " not in path.read_text()
    settings.GIVEWAY_NODES_URL = "http://console.test"
    sim.cycle()
    me = quote(pwd.getpwuid(os.geteuid()).pw_name)
    assert f"cluster dev measures giveway-measure {me}" in path.read_text().splitlines()
