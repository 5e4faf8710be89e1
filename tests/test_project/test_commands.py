"""The commands behind make, in a copy, with stand-ins for python and apt: what do they ask for?"""

import hashlib
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.test_project.repository import ROOT

SCRIPTS = [ROOT / ".ci" / "run", *(path for path in (ROOT / "deploy" / "bin").iterdir() if not path.suffix)]
LOCKS = {"run": "requirements.txt", "dev": "requirements-dev.txt"}


class Machine:
    """A copy of deploy/bin and the locks, and a PATH that begins with our own stand-ins."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "project"
        self.bin = folder / "bin"
        self.bin.mkdir()
        (self.folder / "deploy").mkdir(parents=True)
        shutil.copytree(ROOT / "deploy" / "bin", self.folder / "deploy" / "bin")
        for name in (*LOCKS.values(), "Makefile"):
            shutil.copy(ROOT / name, self.folder)
        self.environment = {"PATH": f"{self.bin}:/usr/bin:/bin", "HOME": str(folder), "TMPDIR": str(folder)}

    def stand_in(self, path: str, script: str) -> None:
        """A relative path is inside the project, a bare name on PATH."""
        target = self.folder / path if "/" in path else self.bin / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(f"#!/bin/sh\n{script}\n")
        target.chmod(0o755)

    def be(self, user_id: int) -> None:
        self.stand_in("id", f"echo {user_id}")

    def installed(self, kind: str) -> None:
        """A .venv as bin/environment leaves it."""
        self.stand_in(".venv/bin/python", "exit 1")
        digest = hashlib.sha256((self.folder / LOCKS[kind]).read_bytes()).hexdigest()
        (self.folder / ".venv" / ".installed").write_text(f"{kind} {digest}  -\n")

    def run(self, *command: str, **environment: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [f"deploy/bin/{command[0]}", *command[1:]],
            cwd=self.folder,
            env=self.environment | environment,
            capture_output=True,
            text=True,
            timeout=300,
        )


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def test_help_explains_every_command() -> None:
    makefile = (ROOT / "Makefile").read_text()
    phony = set(re.findall(r"^\.PHONY: (.*)$", makefile, re.MULTILINE)[0].split())
    environment = {name: value for name, value in os.environ.items() if not name.startswith("MAKE")}
    done = subprocess.run(
        ["make"], cwd=ROOT, env=environment, capture_output=True, text=True, check=True, timeout=300
    )
    explained = dict(re.findall(r"^  make (\S+) +(\S.*)$", done.stdout, re.MULTILINE))
    assert explained.keys() == phony - {"env", "env-dev"}
    assert {"run", "run-slurm", "test", "lint"} <= explained.keys()


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.name)
def test_a_script_stops_at_its_first_failure(script: Path) -> None:
    assert os.access(script, os.X_OK)
    assert "\nset -euo pipefail\n" in script.read_text()
    subprocess.run(["bash", "-n", script], check=True, timeout=300)


@pytest.mark.parametrize(("installed", "wanted"), [("run", "run"), ("dev", "dev"), ("dev", "run")])
def test_an_environment_that_is_there_is_left_alone(machine: Machine, installed: str, wanted: str) -> None:
    machine.installed(installed)
    done = machine.run("environment", wanted)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_what_runs_is_not_enough_to_develop(machine: Machine) -> None:
    machine.installed("run")
    done = machine.run("environment", "dev", PYTHON="/nonexistent/python3")
    assert done.returncode == 1
    assert done.stderr == (
        "giveway: Python 3.11 or later is needed; install it, or name it: make PYTHON=/path/to/python3.12\n"
    )


@pytest.mark.parametrize("kind", ["run", "dev"])
def test_another_lock_makes_another_environment(machine: Machine, kind: str) -> None:
    machine.installed(kind)
    with (machine.folder / LOCKS[kind]).open("a") as lock:
        lock.write("# changed\n")
    assert machine.run("environment", kind, PYTHON="/nonexistent/python3").returncode == 1


def test_an_installation_that_was_interrupted_begins_anew(machine: Machine) -> None:
    machine.stand_in(".venv/bin/python", "exit 0")
    (machine.folder / ".venv" / ".unfinished").touch()
    done = machine.run("environment", "run", PYTHON="/nonexistent/python3")
    assert done.returncode == 1
    assert "Python 3.11 or later is needed" in done.stderr, "it makes the folder anew before anything else"


def test_a_python_without_venv_is_one_clear_line(machine: Machine) -> None:
    machine.be(1000)
    machine.stand_in("python-of-debian", 'case "$2" in *ensurepip*) exit 1;; esac')
    done = machine.run("environment", "run", PYTHON="python-of-debian")
    assert done.returncode == 1
    assert done.stderr == (
        "giveway: python-of-debian has no venv module:"
        " run 'sudo apt-get install python3-venv', or set PYTHON\n"
    )


APT = """
test -x "$POLICY_RC_D" && "$POLICY_RC_D" munge start
echo "policy=$? $*" >>"$HOME/apt"
"""
DPKG = 'case "$*" in *munge*) printf installed;; *) exit 1;; esac'


def test_only_missing_packages_are_installed_and_no_service_starts(machine: Machine, tmp_path: Path) -> None:
    machine.be(0)
    machine.stand_in("dpkg-query", DPKG)
    machine.stand_in("apt-get", APT)
    policy = tmp_path / "policy-rc.d"
    done = machine.run("debian-packages", "munge", "redis-server", POLICY_RC_D=str(policy))
    assert done.returncode == 0, done.stderr
    calls = (tmp_path / "apt").read_text().splitlines()
    assert len(calls) == 1
    assert calls[0].startswith("policy=101 install -y")
    assert "--no-install-recommends" in calls[0]
    assert calls[0].endswith(" redis-server")
    assert not policy.exists()


def test_a_policy_of_the_machine_is_respected(machine: Machine, tmp_path: Path) -> None:
    machine.be(0)
    machine.stand_in("dpkg-query", DPKG)
    machine.stand_in("apt-get", APT)
    policy = tmp_path / "policy-rc.d"
    policy.write_text("#!/bin/sh\nexit 104\n")
    policy.chmod(0o755)
    assert machine.run("debian-packages", "redis-server", POLICY_RC_D=str(policy)).returncode == 0
    assert (tmp_path / "apt").read_text().startswith("policy=104 ")
    assert policy.read_text() == "#!/bin/sh\nexit 104\n"


def test_package_lists_are_fetched_when_the_first_try_fails(machine: Machine, tmp_path: Path) -> None:
    machine.be(0)
    machine.stand_in("dpkg-query", DPKG)
    machine.stand_in("apt-get", 'echo "$1" >>"$HOME/apt"; test "$1" = update || grep -q update "$HOME/apt"')
    done = machine.run("debian-packages", "redis-server", POLICY_RC_D=str(tmp_path / "policy"))
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "apt").read_text().split() == ["install", "update", "install"]


def test_a_package_that_cannot_be_had_is_said_with_apts_own_words(machine: Machine, tmp_path: Path) -> None:
    machine.be(0)
    machine.stand_in("dpkg-query", DPKG)
    machine.stand_in("apt-get", 'echo "E: Unable to locate package $6"; exit 100')
    done = machine.run("debian-packages", "redis-server", POLICY_RC_D=str(tmp_path / "policy"))
    assert done.returncode == 1
    assert "E: Unable to locate package" in done.stderr
    assert done.stderr.endswith("giveway: apt-get could not install redis-server\n")
    assert not (tmp_path / "policy").exists()


def test_without_root_the_missing_packages_are_named_and_nothing_is_tried(machine: Machine) -> None:
    machine.be(1000)
    machine.stand_in("dpkg-query", DPKG)
    done = machine.run("debian-packages", "munge", "slurm-wlm", "redis-server")
    assert done.returncode == 1
    assert done.stderr == (
        "giveway: run 'sudo apt-get install --no-install-recommends slurm-wlm redis-server' first\n"
    )


ACCOUNTING = "slurmdbd slurm-wlm-mysql-plugin mariadb-server-core mariadb-client-core"
PYTEST = 'env | grep ^GIVEWAY | sort; echo "pytest $*"'


def test_as_root_no_suite_may_be_skipped(machine: Machine) -> None:
    machine.be(0)
    machine.stand_in("apt-get", "exit 1")
    machine.stand_in("deploy/bin/debian-packages", 'echo "packages $*"')
    machine.stand_in("deploy/bin/slurm-versions", "echo Slurm 24.11.5 is in /somewhere")
    machine.stand_in(".venv/bin/pytest", PYTEST)
    assert machine.run("test", "-n", "2", GIVEWAY_SLURM="24.11").stdout.splitlines() == [
        f"packages slurm-wlm munge {ACCOUNTING} redis-server postgresql chromium lua5.1 slapd",
        "GIVEWAY_REQUIRE_BROWSER=1",
        "GIVEWAY_REQUIRE_CHINESE=1",
        "GIVEWAY_REQUIRE_SERVERS=1",
        "GIVEWAY_REQUIRE_SLURM=1",
        "GIVEWAY_REQUIRE_SLURM_RELEASES=1",
        "pytest -n 2",
    ]


@pytest.mark.parametrize(
    ("refusal", "said"),
    [
        (
            "echo Slurm 24.11 cannot be had: no trixie; echo Slurm 26.05.5 is in /x",
            "Slurm 24.11 cannot be had: no trixie",
        ),
        (
            "echo Slurm 24.11 cannot be had: no trixie; echo Slurm 26.05 cannot be had: no forky",
            "Slurm 24.11 cannot be had: no trixie; Slurm 26.05 cannot be had: no forky",
        ),
        (
            "echo E: no network; echo giveway: apt-get could not install mmdebstrap",
            "giveway: apt-get could not install mmdebstrap",
        ),
    ],
)
def test_releases_of_slurm_that_cannot_be_had_are_left_out_with_one_line(
    machine: Machine, refusal: str, said: str
) -> None:
    machine.be(0)
    machine.stand_in("apt-get", "exit 1")
    machine.stand_in("deploy/bin/debian-packages", "")
    machine.stand_in("deploy/bin/slurm-versions", f"({refusal}) >&2; exit 1")
    machine.stand_in(".venv/bin/pytest", PYTEST)
    lines = machine.run("test").stdout.splitlines()
    assert lines[0] == f"giveway: left out: {said}"
    assert "GIVEWAY_REQUIRE_SLURM=1" in lines
    assert "GIVEWAY_REQUIRE_SLURM_RELEASES=1" not in lines


def test_pictures_in_chinese_are_left_out_with_one_line_where_letters_cannot_be_had(machine: Machine) -> None:
    machine.be(0)
    machine.stand_in("apt-get", "exit 1")
    refusal = "echo giveway: apt-get could not install $1 >&2; exit 1"
    machine.stand_in("deploy/bin/debian-packages", f"case $1 in fonts*) {refusal};; esac")
    machine.stand_in("deploy/bin/slurm-versions", "")
    machine.stand_in(".venv/bin/pytest", PYTEST)
    lines = machine.run("test").stdout.splitlines()
    assert lines[0] == "giveway: left out: pictures in Chinese (apt-get could not install fonts-wqy-microhei)"
    assert "GIVEWAY_REQUIRE_BROWSER=1" in lines
    assert "GIVEWAY_REQUIRE_CHINESE=1" not in lines


def test_without_root_one_line_says_what_is_left_out(machine: Machine) -> None:
    machine.be(1000)
    machine.stand_in("deploy/bin/debian-packages", "echo never; exit 1")
    machine.stand_in(".venv/bin/pytest", PYTEST)
    said = machine.run("test", "-k", "quota").stdout.splitlines()
    assert len(said) == 2
    assert said[0].startswith("giveway: left out: Slurm (needs root)")
    assert said[1] == "pytest -k quota"
