"""Off by default; on only when what they need is there; nonsense stops the start with one sentence."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SHOW = (
    "from django.conf import settings as s; print(s.GIVEWAY_EMAIL, bool(s.GIVEWAY_WEBHOOK_URL), "
    "'tell' in s.CELERY_BEAT_SCHEDULE, s.EMAIL_HOST, s.EMAIL_PORT, s.EMAIL_TIMEOUT)"
)
ON = {"GIVEWAY_EMAIL": "1", "GIVEWAY_EMAIL_FROM": "giveway@hpc.example"}


def settings_with(tmp_path: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    environment = {
        **os.environ, "GIVEWAY_HOME": str(tmp_path), "DJANGO_SETTINGS_MODULE": "console.settings.local", **variables,
    }  # fmt: skip
    return subprocess.run(
        [sys.executable, "-c", SHOW], cwd=ROOT, env=environment, capture_output=True, text=True, timeout=300
    )


def test_off_by_default(tmp_path: Path) -> None:
    assert settings_with(tmp_path).stdout.split() == ["False", "False", "False", "localhost", "25", "5"]


def test_on_with_a_mail_server(tmp_path: Path) -> None:
    done = settings_with(tmp_path, **ON, EMAIL_URL="smtp+tls://u:p@mail.hpc.example:587")
    assert done.stdout.split() == ["True", "False", "True", "mail.hpc.example", "587", "5"]


@pytest.mark.parametrize(
    ("variables", "sentence"),
    [
        ({"GIVEWAY_EMAIL": "1"}, "GIVEWAY_EMAIL_FROM is ''"),
        ({**ON, "EMAIL_URL": "pigeon://s3cret@nowhere"}, "EMAIL_URL makes no sense"),
        ({"GIVEWAY_WEBHOOK_URL": "ftp://s3cret.example/"}, "GIVEWAY_WEBHOOK_URL must be a whole address"),
        ({"GIVEWAY_WEBHOOK_URL": "https://s3cret.example/"}, "GIVEWAY_WEBHOOK_SECRET is missing"),
        ({"GIVEWAY_NOTICE_EVERY_S": "0"}, "GIVEWAY_NOTICE_EVERY_S is 0; it must be at least 1"),
    ],
)
def test_nonsense_stops_the_start(tmp_path: Path, variables: dict[str, str], sentence: str) -> None:
    done = settings_with(tmp_path, **variables)
    assert done.returncode != 0
    last = done.stderr.strip().splitlines()[-1]
    assert sentence in last
    assert "s3cret" not in last
