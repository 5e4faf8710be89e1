"""What may be run, in which environment, and what happens when a program misbehaves. The programs here are scripts."""

import os
import time
from pathlib import Path

import pytest

from scheduler.adapters.slurm.allowed import ALLOWED, check, is_job_id, is_signal
from scheduler.adapters.slurm.commands import CommandRunner, clean_environment
from scheduler.adapters.slurm.errors import (
    CommandNotAllowedError,
    SlurmOutputError,
    SlurmTimeoutError,
    SlurmUnavailableError,
)
from scheduler.adapters.slurm.rows import Table


def program(folder: Path, name: str, script: str) -> None:
    path = folder / name
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)


def runner(folder: Path, **more: float) -> CommandRunner:
    conf = folder / "slurm.conf"
    conf.touch()
    return CommandRunner({"PATH": f"{folder}:/usr/bin:/bin", "SLURM_CONF": str(conf)}, **more)  # type: ignore[arg-type]


# --- the allow-list ---


@pytest.mark.parametrize(
    "command",
    [
        ("squeue", *Table("gabc").arguments),
        ("squeue", "--noheader", "--jobs=1,2_3"),
        ("squeue", "--version"),
        ("scontrol", "--oneliner", "--details", "--all", "show", "job"),
        ("scontrol", "--oneliner", "--details", "--all", "show", "job", "12_3"),
        ("scontrol", "--all", "show", "config"),
        ("scontrol", "ping"),
        ("scontrol", "update", "JobId=1,2,41_2", "Priority=4000000000"),
        ("scontrol", "update", "JobId=1", "StartTime=2026-11-20T17:50:25"),
        ("scontrol", "update", "JobId=1", "AdminComment=made room for 12 (bob, P0)"),
        ("scontrol", "hold", "1,2"),
        ("scontrol", "release", "1"),
        ("scontrol", "requeuehold", "1,41_2"),
        ("scontrol", "requeue", "1,41_2"),
        ("scancel", "12", "13_1"),
        ("scancel", "--batch", "--signal=USR1", "12"),
        ("scancel", "--batch", "--signal=RTMIN+1", "12"),
        ("scancel", "--batch", "--signal=10", "12"),
        (
            "sbatch",
            "--parsable",
            "--job-name=giveway-measure",
            "--partition=gpu-a",
            "--nodelist=n1",
            "--gres=gpu:8",
        ),
    ],
)
def test_what_the_adapter_needs_is_allowed(command: tuple[str, ...]) -> None:
    check(*_split(command))


@pytest.mark.parametrize(
    "command",
    [
        ("sbatch", "x.sh"),
        ("sbatch", "--wrap=true"),
        ("sbatch", "--uid=0"),
        ("sbatch", "--output=/etc/passwd"),
        ("sbatch", "--export=ALL"),
        ("sbatch", "--nodelist=n1;n2"),
        ("sbatch", "--partition=x --uid=0"),
        ("sh", "-c", "true"),
        ("scontrol", "shutdown"),
        ("scontrol", "reconfigure"),
        ("scontrol", "delete", "PartitionName=x"),
        ("scontrol", "requeue", "1", "--incomplete"),
        ("scontrol", "show", "job", "1;2"),
        ("scontrol", "show", "hostnames", "n1"),
        ("scontrol", "update", "NodeName=n1", "State=DOWN"),
        ("scontrol", "update", "PartitionName=x", "State=DOWN"),
        ("scontrol", "update", "JobId=1", "UserID=0"),
        ("scontrol", "update", "JobId=1", "Priority=-1"),
        ("scontrol", "update", "JobId=1", "StartTime=tomorrow"),
        ("scontrol", "update", "JobId=1", "AdminComment=two\nlines"),
        ("scontrol", "update", "JobId=1", "Comment=the user's own"),
        ("scontrol", "update", "JobId=1 ", "Priority=1"),
        ("scontrol", "hold", "all"),
        ("scontrol", "hold", "jobname=x"),
        ("scontrol", "release", "0"),
        ("scontrol", "release", "1,"),
        ("scontrol", "requeuehold", "1", "--incomplete"),
        ("scontrol", "--uid=0", "hold", "1"),
        ("scancel", "--user=ann"),
        ("scancel", "--full", "1"),
        ("scancel", "-u", "ann"),
        ("scancel", "--signal=KILL; rm", "1"),
        ("scancel", "1+0"),
        ("squeue", "--noheader", "--user=ann"),
        ("squeue", "--clusters=other"),
        ("squeue", "--jobs=$(id)"),
    ],
)
def test_nothing_else_is_allowed(command: tuple[str, ...]) -> None:
    with pytest.raises(CommandNotAllowedError):
        check(*_split(command))


def test_what_is_not_allowed_is_not_run(tmp_path: Path) -> None:
    program(tmp_path, "scancel", f"touch {tmp_path}/was-run")

    with pytest.raises(CommandNotAllowedError):
        runner(tmp_path).run("scancel", "--user=ann")
    assert not (tmp_path / "was-run").exists()


def test_no_other_programs_are_known() -> None:
    assert {name for name, _ in ALLOWED} == {
        "squeue",
        "scontrol",
        "scancel",
        "sacct",
        "sacctmgr",
        "sbatch",
        "sdiag",
    }


@pytest.mark.parametrize(
    "text", ["", "0", "01", "-1", "1+0", "1_", "_1", "1_2_3", "1.0", "1 ", "١", "99999999999"]
)
def test_ids_that_are_none(text: str) -> None:
    assert not is_job_id(text)


@pytest.mark.parametrize("text", ["", "usr1", "USR1 ", "-9", "KILL;", "123", "U"])
def test_signals_that_are_none(text: str) -> None:
    assert not is_signal(text)


# --- the environment ---


def test_a_callers_settings_do_not_change_what_comes_back() -> None:
    env = clean_environment(
        {
            "PATH": "/opt/slurm/bin",
            "SLURM_CONF": "/etc/slurm.conf",
            "SQUEUE_FORMAT": "%i",
            "SLURM_CLUSTERS": "other",
            "SLURM_TIME_FORMAT": "relative",
            "LANG": "de_DE",
            "TZ": "Asia/Tokyo",
            "SECRET_KEY": "x",
        }
    )

    assert env == {
        "PATH": "/opt/slurm/bin",
        "SLURM_CONF": "/etc/slurm.conf",
        "LC_ALL": "C.UTF-8",
        "TZ": "UTC",
        "SLURM_TIME_FORMAT": "%FT%T",
    }


def test_programs_get_that_environment_and_no_input(tmp_path: Path) -> None:
    program(tmp_path, "scontrol", 'echo "$SLURM_CONF $TZ $LC_ALL ${HOME:-none}"; cat; exit 3')

    answer = runner(tmp_path).run("scontrol", "ping")

    assert (answer.out, answer.code) == (f"{tmp_path}/slurm.conf UTC C.UTF-8 none\n", 3)


# --- misbehaviour ---


def test_arguments_reach_the_program_as_they_are(tmp_path: Path) -> None:
    program(tmp_path, "scontrol", 'printf "%s\\n" "$@"')
    comment = "AdminComment=$(id) `id` ; 'x' \"y\" * ~ é"

    answer = runner(tmp_path).run("scontrol", "update", "JobId=1", comment)

    assert answer.out.splitlines() == ["update", "JobId=1", comment]


def test_output_that_is_no_text_is_decoded_all_the_same(tmp_path: Path) -> None:
    program(tmp_path, "scontrol", r"printf 'a\377b'; printf 'c\377' >&2")

    answer = runner(tmp_path).run("scontrol", "ping")

    assert (answer.out, answer.err) == ("a\ufffdb", "c\ufffd")


def test_both_outputs_are_read_to_their_ends(tmp_path: Path) -> None:
    program(
        tmp_path,
        "scontrol",
        "head -c 900000 /dev/zero | tr '\\0' e >&2; head -c 900000 /dev/zero | tr '\\0' o",
    )

    answer = runner(tmp_path).run("scontrol", "ping")

    assert (answer.out, answer.err) == ("o" * 900_000, "e" * 900_000)


def test_a_program_that_hangs_is_ended(tmp_path: Path) -> None:
    program(tmp_path, "scontrol", f"echo $$ > {tmp_path}/pid; echo some; exec sleep 60")

    written = tmp_path / "pid"
    for timeout_s in (0.3, 3.0, 30.0):  # a busy machine may not have begun it in less
        with pytest.raises(SlurmTimeoutError, match="did not answer within"):
            runner(tmp_path, timeout_s=timeout_s).run("scontrol", "ping")
        if written.exists() and written.read_text():
            break
    pid = int(written.read_text())
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


def test_a_program_that_closes_its_output_and_hangs_is_ended(tmp_path: Path) -> None:
    program(tmp_path, "scontrol", "exec >&- 2>&-; exec sleep 60")
    begin = time.monotonic()

    with pytest.raises(SlurmTimeoutError):
        runner(tmp_path, timeout_s=0.3).run("scontrol", "ping")
    assert time.monotonic() - begin < 30


def test_endless_output_is_cut_short(tmp_path: Path) -> None:
    program(tmp_path, "scontrol", "exec yes")

    with pytest.raises(SlurmOutputError, match="more than 100000 bytes"):
        runner(tmp_path, max_bytes=100_000).run("scontrol", "ping")


def test_a_missing_program_is_named(tmp_path: Path) -> None:
    with pytest.raises(SlurmUnavailableError, match="squeue is not on the PATH"):
        CommandRunner({"PATH": str(tmp_path)}).run("squeue", "--version")


def test_a_missing_configuration_is_named_at_once(tmp_path: Path) -> None:
    program(tmp_path, "squeue", f"touch {tmp_path}/was-run")
    env = {"PATH": str(tmp_path), "SLURM_CONF": f"{tmp_path}/absent.conf"}

    with pytest.raises(SlurmUnavailableError, match=r"SLURM_CONF names .*absent.conf, which is not there"):
        CommandRunner(env).run("squeue", "--version")
    assert not (tmp_path / "was-run").exists()


def test_a_program_that_cannot_be_run_is_named(tmp_path: Path) -> None:
    (tmp_path / "scontrol").write_text("#!/no/such/interpreter\n")
    (tmp_path / "scontrol").chmod(0o755)

    with pytest.raises(SlurmUnavailableError, match="scontrol cannot be run"):
        runner(tmp_path).run("scontrol", "ping")


def _split(command: tuple[str, ...]) -> tuple[str, tuple[str, ...]]:
    return command[0], command[1:]


def test_a_command_reads_what_it_is_given(tmp_path: Path) -> None:
    program(tmp_path, "sbatch", "cat")
    text = "#!/bin/sh\n" + "echo é\n" * 100_000
    answer = runner(tmp_path).run_with(text, "sbatch", "--parsable")
    assert (answer.out, answer.code) == (text, 0)
    assert runner(tmp_path).run("sbatch", "--parsable").out == "", "else it reads nothing"
