"""Other releases of Slurm beside the installed one: found by name, unpacked once, run side by side."""

import os
import subprocess
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

import pytest

from deploy.private_slurm import PrivateSlurm, PrivateSlurmError, __main__, releases
from tests.plugins.private_slurm import new_root

TOLD = {"24.11": "slurm-wlm 24.11.", "26.05": "slurm-wlm 26.05."}


def test_a_release_is_known_by_its_short_and_its_exact_name() -> None:
    assert releases.known("24.11") == releases.known("24.11.5") == "24.11"
    assert releases.known("system") == releases.SYSTEM

    with pytest.raises(
        PrivateSlurmError, match=r"there is no Slurm '24.1' to be had; choose one of system, 24.11"
    ):
        releases.known("24.1")


def test_a_release_that_is_not_unpacked_is_named_with_the_command_that_unpacks_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv(releases.PLACE, str(tmp_path))

    with pytest.raises(
        PrivateSlurmError, match=r"Slurm 26.05 is not unpacked; run: deploy/bin/slurm-versions 26.05"
    ):
        PrivateSlurm(tmp_path / "new", version="26.05.5")


def test_the_installed_one_is_meant_where_nobody_names_another(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(releases.VARIABLE, raising=False)
    assert releases.named(None) is None

    monkeypatch.setenv(releases.VARIABLE, "12.34")
    with pytest.raises(PrivateSlurmError, match=r"there is no Slurm '12.34'"):
        releases.named(None)


FETCH = """#!/bin/sh
echo called >>"$CALLS"
for folder; do :; done
programs="sacct sacctmgr salloc sbatch scancel scontrol sdiag sinfo squeue srun"
mkdir -p "$folder/usr/bin" "$folder/usr/sbin" "$folder/usr/lib/arch/slurm-wlm"
touch "$folder/usr/lib/arch/ld-linux-x86-64.so.2" "$folder/usr/sbin/slurmctld"
[ ! -e "$BROKEN" ] || { echo 'E: connection reset' >&2; exit 25; }
for program in $programs; do touch "$folder/usr/bin/$program"; done
for daemon in slurmctld slurmd slurmstepd; do
    printf '#!/bin/sh\\necho slurm-wlm %s\\n' "$HAS" >"$folder/usr/sbin/$daemon-wlm"
    chmod 755 "$folder/usr/sbin/$daemon-wlm"
done
[ -n "$WITHOUT_SLURMDBD" ] || touch "$folder/usr/sbin/slurmdbd"
sleep 0.2
"""
"""A mmdebstrap that makes a small tree; while the file BROKEN is there it fails in the middle of it."""


class Mirror:
    """What mmdebstrap would fetch from, and how often it did."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.place, self.broken, self.calls = folder / "place", folder / "broken", folder / "calls"
        for name, script in (("mmdebstrap", FETCH), ("patchelf", "#!/bin/sh\n")):
            program = folder / "bin" / name
            program.parent.mkdir(exist_ok=True)
            program.write_text(script)
            program.chmod(0o755)
        monkeypatch.setenv("PATH", f"{folder / 'bin'}:{os.environ['PATH']}")
        for name, value in ((releases.PLACE, self.place), ("BROKEN", self.broken), ("CALLS", self.calls)):
            monkeypatch.setenv(name, str(value))
        self._monkeypatch = monkeypatch
        self.has("24.11.5")

    def has(self, version: str) -> None:
        self._monkeypatch.setenv("HAS", version)

    def fetched(self) -> int:
        return len(self.calls.read_text().splitlines())


@pytest.fixture
def mirror(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Mirror:
    return Mirror(tmp_path, monkeypatch)


def test_a_fetch_that_fails_midway_leaves_nothing_and_the_next_one_has_it_all(mirror: Mirror) -> None:
    mirror.broken.touch()
    with pytest.raises(PrivateSlurmError, match=r"mmdebstrap failed with status 25: E: connection reset"):
        releases.unpack("24.11")
    assert not (mirror.place / "24.11").exists()

    mirror.broken.unlink()
    assert releases.unpack("24.11").version() == "24.11.5"
    assert releases.named("24.11.5") == releases.Release("24.11", mirror.place / "24.11")


def test_a_mirror_that_never_answers_is_given_up(mirror: Mirror, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(releases, "UNPACK_S", 0.1)

    with pytest.raises(PrivateSlurmError, match="mmdebstrap was not done within 0 s"):
        releases.unpack("24.11")

    assert not (mirror.place / "24.11").exists()


def test_what_a_killed_fetch_left_is_not_taken_for_a_release_and_is_replaced(mirror: Mirror) -> None:
    half = mirror.place / "24.11" / "usr" / "sbin" / "slurmctld"
    half.parent.mkdir(parents=True)
    half.touch()
    with pytest.raises(PrivateSlurmError, match=r"Slurm 24\.11 is not unpacked"):
        releases.named("24.11")

    assert releases.unpack("24.11").daemon("slurmctld").read_text()


def test_two_at_once_fetch_once_and_what_is_there_is_not_fetched_again(mirror: Mirror) -> None:
    with ThreadPoolExecutor() as pool:
        assert len(set(pool.map(releases.unpack, ["24.11"] * 4))) == 1
    releases.unpack("24.11")

    assert mirror.fetched() == 1


def test_a_release_without_slurmdbd_is_replaced_and_stays_where_no_other_can_be_had(
    mirror: Mirror, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WITHOUT_SLURMDBD", "1")
    old = releases.unpack("24.11")
    mirror.broken.touch()
    with pytest.raises(PrivateSlurmError, match="connection reset"):
        releases.unpack("24.11")
    assert old.version() == "24.11.5" and not old.daemon("slurmdbd").exists()

    mirror.broken.unlink()
    monkeypatch.delenv("WITHOUT_SLURMDBD")
    assert releases.unpack("24.11").daemon("slurmdbd").exists()
    assert not list(mirror.place.glob("*.old"))


def test_a_suite_that_has_moved_on_is_said_and_the_others_are_unpacked(
    mirror: Mirror, capsys: pytest.CaptureFixture[str]
) -> None:
    mirror.has("26.05.9")

    assert __main__.main(["unpack"]) == 1

    said = capsys.readouterr()
    assert said.err == "Slurm 24.11 cannot be had: Debian's trixie has Slurm 26.05.9 by now, not 24.11\n"
    assert said.out == f"Slurm 26.05.9 is in {mirror.place / '26.05'}\n"
    assert not (mirror.place / "24.11").exists()


@pytest.mark.slurm
def test_releases_run_side_by_side_and_each_says_its_own_version(need_releases: None) -> None:
    with ExitStack() as stack:
        running = {
            name: stack.enter_context(
                PrivateSlurm(new_root(), nodes=2, gpus=0, version=name, remove_root=True)
            )
            for name in releases.SUITES
        }
        for name, slurm in running.items():
            assert slurm.run(["squeue", "--version"]).stdout.startswith(TOLD[name])
            typed = ["sh", "-c", f"export {slurm.exports}; squeue --version; sinfo --noheader"]
            told = subprocess.run(typed, capture_output=True, text=True, timeout=300).stdout
            assert told.startswith(TOLD[name]) and "idle n[1-2]" in told
            job = slurm.submit(
                "ann", "-N2", "-n2", script="#!/bin/sh\nsrun sh -c 'echo $SLURM_PROCID >>ids'\n"
            )
            slurm.wait_for_state(job, "")
            assert sorted((slurm.work / "ann" / "ids").read_text().split()) == ["0", "1"]
