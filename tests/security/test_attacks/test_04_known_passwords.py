"""`manage.py run` on a real cluster made accounts whose password everybody knows, and partitions that stop jobs."""

import os
import re
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from deploy.private_slurm import PrivateSlurm, is_kept
from tests.e2e.processes import clean_environment, manage, process, wait_until
from tests.plugins.migrated import copy_migrated_sqlite
from tests.plugins.private_slurm import need_slurm
from tests.plugins.server_process import free_port
from tests.security.test_attacks.installation import SECRET, Client

pytestmark = [pytest.mark.e2e]

DEMO = "giveway-demo"
NAMES = ("admin", "dave", "pam", "ada", "vic")
REAL = {
    "DJANGO_SETTINGS_MODULE": "console.settings.production",
    "SECRET_KEY": SECRET,
    "ALLOWED_HOSTS": "localhost",
}
COUNT = """
from console.accounts.models import User
from console.partitions.models import Partition
from console.projects.models import Project
print([row.objects.count() for row in (User, Partition, Project)])
"""
HOW_FAR = """
from console.partitions.models import Partition
print([row.revision.enforcement for row in Partition.objects.all()])
"""


@contextmanager
def run(folder: Path, *argv: str, **variables: str) -> Iterator[tuple[dict[str, str], str]]:
    """`manage.py run`, ready: its environment, and what it has said. Its database has the tables, and nothing else."""
    home, log = folder / "home", folder / "run.log"
    home.mkdir(mode=0o700)
    copy_migrated_sqlite(home / "giveway.sqlite3")
    database = f"sqlite:///{home / 'giveway.sqlite3'}"
    env = clean_environment(GIVEWAY_HOME=str(home), PORT=str(free_port()), DATABASE_URL=database, **variables)
    with process("manage.py", "run", *argv, env=env, log=log) as child:
        wait_until(lambda: child.poll() is not None or "Ctrl-C" in log.read_text(), "ready", 120, log)
        yield env, log.read_text()
        if child.poll() is None:
            os.killpg(child.pid, signal.SIGINT)
            child.wait(180)


def nobody_gets_in(env: dict[str, str], said: str) -> None:
    """The wizard, and none of the demonstration."""
    assert "one-time code: " in said and DEMO not in said
    proxy = {"X_Forwarded_Proto": "https"}
    for name in NAMES:
        sent = {"username": name, "password": DEMO}
        answer = Client(int(env["PORT"])).send("/api/v1/token/", sent, **proxy)
        assert answer.status == 400 and "token" not in answer.data


@pytest.mark.slurm
def test_on_a_real_slurm_there_is_no_demonstration(private_slurm: PrivateSlurm, tmp_path: Path) -> None:
    """It answers like any other, with partitions x and q; that a test has started it, nothing beside its file tells."""
    conf = tmp_path / "slurm.conf"
    shutil.copy(private_slurm.conf, conf)
    shutil.copy(private_slurm.conf.with_name("gres.conf"), tmp_path)
    assert is_kept(private_slurm.conf) and not is_kept(conf)
    with run(tmp_path, GIVEWAY_CLUSTER="slurm", SLURM_CONF=str(conf)) as (env, said):
        nobody_gets_in(env, said)
        page = Client(int(env["PORT"])).ask("GET", "/setup/administrator/")
        assert page.status == 200 and 'name="code"' in page.text
        wait_until(lambda: _shell(env, COUNT).strip() == "[0, 3, 0]", "the cluster is seen", 60)
        assert _shell(env, HOW_FAR).strip() == "['shadow', 'shadow', 'shadow']"


@pytest.mark.parametrize("cluster", ["slurm", "simulator"])
def test_under_the_settings_of_a_real_installation_there_is_none(tmp_path: Path, cluster: str) -> None:
    nowhere = {"SLURM_CONF": str(tmp_path / "slurm.conf"), "GIVEWAY_TRUSTED_PROXIES": "127.0.0.1"}
    with run(tmp_path, GIVEWAY_CLUSTER=cluster, **nowhere, **REAL) as (env, said):
        nobody_gets_in(env, said)
        assert _shell(env, COUNT).strip().startswith("[0,")


def test_a_database_that_was_the_demonstrations_is_refused_on_a_real_cluster(tmp_path: Path) -> None:
    env = clean_environment(GIVEWAY_HOME=str(tmp_path / "home"), PORT=str(free_port()))
    copy_migrated_sqlite(tmp_path / "home" / "giveway.sqlite3")
    assert "True" in _shell(env, "from console.launch.demo import seed; print(seed())")
    real = {**env, "GIVEWAY_CLUSTER": "slurm", "SLURM_CONF": str(tmp_path / "slurm.conf")}
    told = manage("run", env=real)
    assert told.returncode == 1
    assert "The accounts ada, admin, dave, pam, vic have the demonstration's password" in told.stderr
    found = manage("doctor", env=real).stdout
    assert re.search(r"FAIL +accounts +.*everybody knows: ada, admin, dave, pam and vic\.", found)
    assert manage("shell", "-c", "from console.launch.demo import seed; seed()", env=real).returncode == 1


@pytest.mark.slurm
def test_our_own_private_slurm_has_the_demonstration_and_lets_its_users_in(tmp_path: Path) -> None:
    """`make run-slurm`: the console's folder is closed, what the users of the cluster need is not in it."""
    need_slurm()
    home, log = tmp_path / "home", tmp_path / "run.log"
    env = clean_environment(GIVEWAY_HOME=str(home), PORT=str(free_port()))
    with process("manage.py", "run", "--slurm", env=env, log=log) as child:
        wait_until(lambda: child.poll() is not None or "Ctrl-C" in log.read_text(), "ready", 180, log)
        found = re.search(r"export SLURM_CONF=(\S+) ", log.read_text())
        assert found, log.read_text()
        assert DEMO in log.read_text()
        submit = (
            "sbatch",
            "--chdir=/tmp",
            "--output=/dev/null",
            "-J",
            "l1_a",
            "-p",
            "x",
            "--wrap",
            "sleep 60",
        )
        as_ann = {"PATH": os.environ["PATH"], "SLURM_CONF": found[1]}

        def ann(*argv: str) -> str:
            asked = subprocess.run(
                argv, user="ann", extra_groups=[], env=as_ann, capture_output=True, text=True, cwd="/tmp"
            )
            return asked.stdout or asked.stderr

        assert "Submitted batch job" in ann(*submit)
        running = ("squeue", "--noheader", "--states=R", "-o", "%u %j")
        wait_until(lambda: ann(*running).split() == ["ann", "l1_a"], "ann's job runs", 60, log)
        assert home.stat().st_mode & 0o077 == 0
        secret = Path(found[1]).parent
        assert [(secret / name).stat().st_mode & 0o077 for name in ("state", "log", "munge/key")] == [0, 0, 0]
        os.killpg(child.pid, signal.SIGINT)
        assert child.wait(180) == 0
    assert not is_kept(Path(found[1])) and not secret.exists()


def test_the_mark_of_a_private_slurm_that_has_ended_is_none() -> None:
    with tempfile.TemporaryDirectory() as folder:
        conf = Path(folder) / "slurm.conf"
        conf.with_name(".private-slurm").touch()
        assert not is_kept(conf)


def _shell(env: dict[str, str], code: str) -> str:
    return manage("shell", "-v0", "-c", code, env=env).stdout
