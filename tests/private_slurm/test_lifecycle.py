"""A private Slurm starts, ends, and leaves nothing behind, whatever happens to it or to its starter."""

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import pytest

from deploy.private_slurm import PrivateSlurm, PrivateSlurmError, host, releases
from deploy.private_slurm.keeper import descendants
from tests.private_slurm import processes

pytestmark = pytest.mark.slurm

REPOSITORY = Path(__file__).parents[2]
END_S = 300.0
# A job that leaves its session and its parent, as a badly behaved one does.
RUNAWAY = "#!/bin/sh\nsetsid sh -c 'trap \"\" TERM HUP; sleep 86400 & wait' &\nexec sleep 86400\n"
STEPS_AND_RUNAWAY = RUNAWAY.replace("exec", "srun --overlap -n1 sleep 86400 &\nexec")


def small(root: Path, **more: object) -> PrivateSlurm:
    return PrivateSlurm(root, nodes=2, gpus=2, **more)  # type: ignore[arg-type]


@contextmanager
def python(folder: Path, *argv: str) -> Iterator[subprocess.Popen[str]]:
    """A Python of its own, its errors in `folder`/err; ended with the block if not before."""
    with (folder / "err").open("w") as errors:
        process = subprocess.Popen(
            [sys.executable, *argv], cwd=REPOSITORY, stdout=subprocess.PIPE, stderr=errors, text=True
        )
    with process:
        try:
            yield process
        finally:
            process.kill()


def up(folder: Path, root: Path, *argv: str) -> AbstractContextManager[subprocess.Popen[str]]:
    return python(folder, "-m", "deploy.private_slurm", "up", "--root", str(root), "--nodes", "2", *argv)


def line(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline()


def test_start_and_stop_leave_no_process_and_no_listening_socket(slurm_root: Path) -> None:
    slurm = small(slurm_root)
    with pytest.raises(PrivateSlurmError, match="start the private Slurm first"):
        slurm.states()
    slurm.start()
    running = processes.all_of(slurm)
    ports = processes.ports(slurm.conf)

    assert set(slurm.daemons()) == {"munged", "slurmctld", "slurmd-n1", "slurmd-n2"}
    assert len(ports) == 3
    assert all(host.listens(port) for port in ports)

    slurm.stop()
    slurm.stop()  # harmless
    assert processes.alive(running) == []
    assert not any(host.listens(port) for port in ports)
    assert (slurm.logs / "slurmctld.log").exists()  # the folder stays unless asked otherwise
    with pytest.raises(PrivateSlurmError, match="is not running"):
        slurm.daemons()


def test_it_listens_on_loopback_only(slurm_root: Path) -> None:
    with small(slurm_root) as slurm:
        wanted = {f"{port:04X}" for port in processes.ports(slurm.conf)}
        rows = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
        listening = [row[1].split(":") for row in rows if row[3] == "0A"]

        assert {address for address, port in listening if port in wanted} == {"0100007F"}
        assert {port for _, port in listening if port in wanted} == wanted


def test_a_stop_takes_jobs_along_even_one_that_ran_away(slurm_root: Path) -> None:
    with small(slurm_root) as slurm:
        job = slurm.submit("ann", "-p", "x", script=RUNAWAY)
        slurm.wait_for_state(job, "RUNNING")
        slurm.wait_until(lambda: sleeps(slurm) == 2, "both sleeps of the job to run")
        running = processes.all_of(slurm)

    assert processes.alive(running) == []


def sleeps(slurm: PrivateSlurm) -> int:
    def command(pid: int) -> bytes:
        try:
            return Path(f"/proc/{pid}/cmdline").read_bytes()
        except (FileNotFoundError, ProcessLookupError):
            return b""

    ours = {b"sleep\0" + b"86400\0", b"/usr/bin/sleep\0" + b"86400\0"}  # srun looks the program up
    return sum(command(pid) in ours for pid in processes.all_of(slurm))


def test_two_at_once_know_nothing_of_each_other(slurm_root: Path) -> None:
    one, two = small(slurm_root / "one", name="one"), small(slurm_root / "two", name="two")
    with ThreadPoolExecutor() as pool:
        starts = [pool.submit(slurm.start) for slurm in (one, two)]
    try:
        assert [start.result() for start in starts] == [one, two]
        job = one.submit("ann", "-p", "x")
        one.wait_for_state(job, "RUNNING")

        assert one.states() == {str(job): "RUNNING"}
        assert two.states() == {}
        assert "ClusterName             = two" in two.run(["scontrol", "show", "config"]).stdout
    finally:
        one.stop()
        running = processes.all_of(two)
        two.stop()
    assert processes.alive(running) == []


def test_a_port_that_was_taken_meanwhile_is_replaced_by_another(
    slurm_root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And by daemons that remember nothing of the first try: a slurmctld keeps the number of its cluster."""
    real, calls = host.free_ports, []
    remembered = slurm_root / "state" / "remembered"
    with socket.socket() as squatter:
        squatter.bind(("127.0.0.1", 0))
        squatter.listen()

        def first_a_taken_one(count: int, avoid: object = ()) -> list[int]:
            calls.append(remembered.exists())
            remembered.touch()
            found = real(count)
            return [squatter.getsockname()[1], *found[1:]] if len(calls) == 1 else found

        monkeypatch.setattr(host, "free_ports", first_a_taken_one)
        with small(slurm_root) as slurm:
            assert squatter.getsockname()[1] not in processes.ports(slurm.conf)
            assert len(slurm.daemons()) == 4

    assert calls == [False, False]


def test_a_root_too_long_for_sockets_works_and_its_alias_is_gone_afterwards(slurm_root: Path) -> None:
    root = slurm_root / ("deep" * 20) / ("down" * 20)
    with small(root) as slurm:
        alias = Path(slurm.conf.read_text().partition("AuthInfo=socket=")[2].partition("/munge")[0])
        assert alias.is_symlink()
        job = slurm.submit("bob", "-p", "x")
        slurm.wait_for_state(job, "RUNNING")

    assert not alias.parent.exists()
    assert root.exists()


def test_a_folder_can_be_used_again_and_starts_afresh(slurm_root: Path) -> None:
    with small(slurm_root) as slurm:
        slurm.submit("ann", "-p", "x")
    with small(slurm_root) as slurm:
        assert slurm.states() == {}
        assert slurm.submit("ann", "-p", "x") == 1


def test_a_folder_in_use_and_a_folder_of_somebody_else_are_refused(slurm_root: Path) -> None:
    (slurm_root / "theirs").mkdir()
    (slurm_root / "theirs" / "thesis.tex").touch()
    with pytest.raises(PrivateSlurmError, match="has files that no private Slurm has made"):
        small(slurm_root / "theirs").start()
    assert [path.name for path in (slurm_root / "theirs").iterdir()] == ["thesis.tex"]

    with small(slurm_root / "ours") as slurm:
        with pytest.raises(PrivateSlurmError, match="is used by another private Slurm"):
            small(slurm_root / "ours").start()
        with pytest.raises(PrivateSlurmError, match="is already running"):
            slurm.start()
        assert len(slurm.daemons()) == 4


def test_a_configuration_that_cannot_work_is_an_error_that_shows_the_log(slurm_root: Path) -> None:
    slurm = small(slurm_root, options={"SelectType": "select/nonsense"})

    with pytest.raises(PrivateSlurmError, match=r"(?s)slurm(ctl)?d.* ended while starting.*select/nonsense"):
        slurm.start()

    assert not any(host.listens(port) for port in processes.ports(slurm.conf))


def test_a_start_that_takes_too_long_is_an_error_that_shows_the_logs(
    slurm_root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    slurm = small(slurm_root, start_s=0.0)
    # On a machine that is busy enough it may be ready before it is looked at for the first time.
    monkeypatch.setattr(type(slurm), "_answers", lambda *_: False)

    with pytest.raises(PrivateSlurmError, match="does not start: not ready within 0 s"):
        slurm.start()

    assert not any(host.listens(port) for port in processes.ports(slurm.conf))


def test_whoever_started_it_is_killed_and_everything_is_gone(slurm_root: Path) -> None:
    script = (
        "import sys, time, pathlib; from deploy.private_slurm import PrivateSlurm\n"
        f"root = pathlib.Path({str(slurm_root / 'root')!r})\n"
        "slurm = PrivateSlurm(root, nodes=2, remove_root=True).start()\n"
        f"job = slurm.submit('ann', '-p', 'x', script={RUNAWAY!r}); slurm.wait_for_state(job, 'RUNNING')\n"
        "print(slurm.pid, flush=True); time.sleep(600)\n"
    )
    with python(slurm_root, "-c", script) as parent:
        keeper = int(line(parent))
        running = {pid: processes.started(pid) for pid in [keeper, *descendants(keeper)]}
        ports = processes.ports(slurm_root / "root" / "slurm.conf")
        assert len(running) >= 7  # keeper, munged, slurmctld, two slurmd, slurmstepd, the job

        parent.kill()
        parent.wait(END_S)

    assert processes.gone_within(running, END_S)
    assert not any(host.listens(port) for port in ports)
    assert not (slurm_root / "root").exists()


@pytest.mark.parametrize("version", [releases.SYSTEM, *releases.SUITES])
def test_a_killed_keeper_takes_the_daemons_along_and_stop_ends_the_jobs(
    slurm_root: Path, version: str
) -> None:
    """On 24.11 and later slurmstepd's environment is blank: its orphans were not found there."""
    try:
        slurm = small(slurm_root, version=version).start()
    except PrivateSlurmError as error:
        if "is not unpacked" not in str(error):
            raise
        pytest.skip(str(error))
    job = slurm.submit("ann", "-p", "x", script=STEPS_AND_RUNAWAY)
    slurm.wait_for_state(job, "RUNNING")
    slurm.wait_until(lambda: sleeps(slurm) == 3, "the sleeps of the job and its step to run")
    running = processes.all_of(slurm)
    daemons = {pid: running[pid] for pid in slurm.daemons().values()}

    os.kill(slurm.pid, signal.SIGKILL)
    assert processes.gone_within(daemons, END_S)
    with pytest.raises(PrivateSlurmError, match="the keeper ended with status -9"):
        slurm.stop()

    assert processes.alive(running) == []


def test_slurmctld_can_be_away_and_come_back_while_jobs_go_on(slurm_root: Path) -> None:
    with small(slurm_root) as slurm:
        job = slurm.submit("ann", "-p", "x")
        slurm.wait_for_state(job, "RUNNING")

        slurm.stop_daemon("slurmctld")
        assert "slurmctld" not in slurm.daemons()
        assert "is DOWN" in slurm.run(["scontrol", "ping"], check=False).stdout
        slurm.start_daemon("slurmctld")

        assert slurm.states() == {str(job): "RUNNING"}


@pytest.mark.parametrize("ending", [signal.SIGINT, signal.SIGTERM])
def test_the_command_says_how_to_use_it_and_ends_on_a_signal(
    slurm_root: Path, ending: signal.Signals
) -> None:
    root = slurm_root / "root"
    with up(slurm_root, root) as command:
        assert line(command) == f"export SLURM_CONF={root}/slurm.conf && cd {root}/work\n"
        ports = processes.ports(root / "slurm.conf")
        assert all(host.listens(port) for port in ports)

        command.send_signal(ending)
        assert command.wait(END_S) == 0

    assert not any(host.listens(port) for port in ports)
    assert not root.exists()


def test_the_command_keeps_the_folder_when_asked(slurm_root: Path) -> None:
    root = slurm_root / "root"
    with up(slurm_root, root, "--keep") as command:
        line(command)
        command.send_signal(signal.SIGTERM)
        assert command.wait(END_S) == 0

    assert (root / "log" / "slurmctld.log").exists()


def test_the_command_says_in_one_line_what_is_wrong(slurm_root: Path) -> None:
    root = slurm_root / "theirs"
    root.mkdir()
    (root / "thesis.tex").touch()
    with up(slurm_root, root) as command:
        assert line(command) == ""
        assert command.wait(END_S) == 1

    said = (slurm_root / "err").read_text()
    assert said == f"{root} has files that no private Slurm has made; choose a new or empty folder\n"
