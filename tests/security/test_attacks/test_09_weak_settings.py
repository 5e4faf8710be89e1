"""`SECRET_KEY=x` and `ALLOWED_HOSTS=*` started in production, and without DATABASE_URL it was SQLite without a word."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.e2e.processes import ROOT, clean_environment, manage
from tests.plugins.server_process import free_port
from tests.security.test_attacks.installation import SECRET

pytestmark = [pytest.mark.e2e]

WEAK = {
    "no database": ({"DATABASE_URL": ""}, "DATABASE_URL is not set. Name the database there: postgres://"),
    "no key": ({"SECRET_KEY": ""}, "SECRET_KEY is not set."),
    "a short key": (
        {"SECRET_KEY": "x"},
        "SECRET_KEY has 1 characters, 1 of them different; it takes 50 and 5.",
    ),
    "a dull key": ({"SECRET_KEY": "ab" * 40}, "SECRET_KEY has 80 characters, 2 of them different"),
    "Django's own": ({"SECRET_KEY": "django-insecure-" + SECRET}, "SECRET_KEY begins with django-insecure-"),
    "no host": ({"ALLOWED_HOSTS": ""}, "ALLOWED_HOSTS is not set."),
    "any host": ({"ALLOWED_HOSTS": "*"}, "ALLOWED_HOSTS is '*'; name the console's own addresses"),
    "any host, too": ({"ALLOWED_HOSTS": "giveway.example.org,*"}, "ALLOWED_HOSTS is 'giveway.example.org,*'"),
    "only commas": ({"ALLOWED_HOSTS": ",,"}, "ALLOWED_HOSTS is ',,'"),
    "no proxy": ({"GIVEWAY_TRUSTED_PROXIES": "gateway"}, "GIVEWAY_TRUSTED_PROXIES has 'gateway'"),
}


def environment(home: Path, **weak: str) -> dict[str, str]:
    """All that a real installation needs, but for what is weak."""
    good = {
        "DJANGO_SETTINGS_MODULE": "console.settings.production",
        "SECRET_KEY": SECRET,
        "ALLOWED_HOSTS": "giveway.example.org",
        "DATABASE_URL": "postgres://nobody@127.0.0.1:1/none",
        "GIVEWAY_HOME": str(home),
    }
    return clean_environment(**{**good, **weak})


@pytest.mark.parametrize("case", WEAK)
def test_it_does_not_start_and_says_why_in_one_line(case: str, tmp_path: Path) -> None:
    weak, told = WEAK[case]
    done = manage("check", env=environment(tmp_path, **weak))
    assert done.returncode == 1
    assert done.stderr.startswith(told) and done.stderr.count("\n") == 1, done.stderr


def test_with_all_of_it_the_check_passes(tmp_path: Path) -> None:
    done = manage("check", env=environment(tmp_path))
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("argv", [("gunicorn", "console.wsgi"), ("celery", "-A", "console", "worker")])
def test_neither_do_web_server_and_worker(argv: tuple[str, ...], tmp_path: Path) -> None:
    bind = (f"--bind=127.0.0.1:{free_port()}", "--no-control-socket") if argv[0] == "gunicorn" else ()
    env = environment(tmp_path, SECRET_KEY="x")
    done = subprocess.run(
        [sys.executable, "-m", *argv, *bind], cwd=ROOT, env=env, capture_output=True, text=True, timeout=300
    )
    assert done.returncode != 0
    assert "SECRET_KEY has 1 characters" in done.stdout + done.stderr
