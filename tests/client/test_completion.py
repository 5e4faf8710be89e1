"""Completion, as the shells ask for it."""

import shutil
import subprocess
from collections.abc import Callable

import pytest

from console.cluster.models import Job
from tests import factories
from tests.api.conftest import House
from tests.client.conftest import Shell
from tests.client.test_giveway import said

pytestmark = pytest.mark.django_db(transaction=True)
AsUser = Callable[[str], Shell]

ASK_BASH = """
set -u
source <(giveway completion bash)
COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) COMPREPLY=()
_giveway
printf '%s\\n' "${COMPREPLY[@]-}"
"""


def completed(shell: Shell, *words: str) -> list[str]:
    """What bash would offer for the last of the words."""
    done = subprocess.run(
        ["bash", "-c", ASK_BASH, "bash", "giveway", *words],
        env={"PATH": f"{shell.command.parent}:/usr/local/bin:/usr/bin:/bin", "HOME": str(shell.home),
             "no_proxy": "*", **shell.variables},
        capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout.split("\n")[:-1]


def test_commands_and_options(shell: Shell) -> None:
    assert completed(shell, "pl") == ["plan", "plans"]
    assert {"why", "approve", "pause", "completion"} <= set(completed(shell, ""))
    assert completed(shell, "plans", "--w") == ["--waiting"]
    assert completed(shell, "completion", "") == ["bash", "zsh"]
    assert completed(shell, "projects", "s") == ["set"]
    assert completed(shell, "nonsense", "x") == completed(shell, "approve", "1", "--reason", "") == [""]


def test_what_the_console_knows(house: House, as_user: AsUser) -> None:
    factories.make_running_job(house.cluster, "41_2", user="vera")
    shell = as_user("vera")
    assert completed(shell, "why", "") == ["41_2"]
    assert completed(shell, "pause", "") == completed(shell, "jobs", "--partition", "") == ["x", "y"]
    assert completed(shell, "pause", "--reason", "why not", "") == ["x", "y"]
    assert completed(as_user("pam"), "projects", "set", "al") == ["alpha"]


def test_without_a_console_there_is_nothing_and_no_noise(shell: Shell) -> None:
    assert completed(shell, "why", "4") == [""]


def test_no_name_reaches_the_command_line_that_a_shell_would_obey(house: House, as_user: AsUser) -> None:
    Job.objects.all().delete()
    for number in ("$(touch x)", "a;b", "`id`", "4 5", "-rf", "7"):
        factories.make_running_job(house.cluster, number, user="vera")
    assert completed(as_user("vera"), "why", "") == ["7"]


@pytest.mark.skipif(shutil.which("zsh") is None, reason="zsh is not installed: apt-get install zsh")
def test_zsh_understands_its_script(shell: Shell) -> None:
    script = said(shell.run("completion", "zsh"))
    subprocess.run(["zsh", "-n"], input=script, text=True, check=True, timeout=300)
