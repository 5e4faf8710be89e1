"""The `giveway` command as users run it: a process with a home folder of its own, against a live console."""

import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests import factories
from tests.api import conftest as api
from tests.api.conftest import House

house = api.own_house
"""The small house of the API's tests."""
CLIENT = Path(__file__).parents[2] / "deploy" / "client"
PACKAGE = CLIENT / "giveway_client"
Done = subprocess.CompletedProcess[str]


@dataclass
class Shell:
    """Somebody's shell on a login node."""

    home: Path
    url: str
    command: Path
    variables: dict[str, str] = field(default_factory=dict)

    def run(self, *arguments: str, given: str = "", **variables: str) -> Done:
        path = os.environ["PATH"]
        environment = {
            "PATH": path, "HOME": str(self.home), "COLUMNS": "80", "LANG": "C.UTF-8", "TZ": "UTC", "no_proxy": "*",
            **self.variables, **variables,
        }  # fmt: skip
        return subprocess.run(
            # Isolated: it must need nothing of what is installed for the console.
            [sys.executable, "-I", str(self.command), *arguments],
            env=environment, input=given, capture_output=True, text=True, timeout=300,
        )  # fmt: skip


@pytest.fixture(scope="session")
def command(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The one file, as `make client` builds it."""
    built = tmp_path_factory.mktemp("client") / "giveway"
    subprocess.run([sys.executable, CLIENT / "build.py", built], check=True, timeout=300)
    return built


@pytest.fixture
def shell(tmp_path: Path, live_server: Any, command: Path) -> Shell:
    """Nobody is logged in."""
    return Shell(tmp_path, live_server.url, command)


@pytest.fixture
def as_user(house: House, shell: Shell) -> Callable[[str], Shell]:
    """With somebody's token in the environment."""
    made: list[str] = []

    def enter(name: str) -> Shell:
        secret = factories.make_token(house.people[name], f"token {len(made)}")
        made.append(secret)
        shell.variables = {"GIVEWAY_URL": shell.url, "GIVEWAY_TOKEN": secret}
        return shell

    return enter
