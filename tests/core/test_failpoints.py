"""The points at which a process can be made to die: all of them known, and out of reach in production."""

import ast
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from console.core import failpoints

ROOT = Path(__file__).parents[2]


@pytest.fixture(autouse=True)
def disarmed() -> Iterator[None]:
    yield
    failpoints.at_point = None


def named_in_the_code() -> set[str]:
    """The names given to `failpoint` anywhere; `{kind}` in one of them stands for every kind of action."""
    found: set[str] = set()
    for path in (ROOT / "console").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "failpoint":
                (name,) = node.args
                text = ast.unparse(name)
                found |= {
                    ast.literal_eval(text.removeprefix("f").replace("{kind}", kind))
                    for kind in failpoints.KINDS
                }
    return found


def test_the_list_of_points_is_what_the_code_has() -> None:
    assert named_in_the_code() == failpoints.POINTS


def test_the_kinds_are_all_kinds_of_actions() -> None:
    from scheduler.model.actions import ActionKind

    assert set(failpoints.KINDS) == {kind.value for kind in ActionKind}


@pytest.mark.parametrize("fault", ["nowhere", "cycle.observed:x", "cycle.observed:1:NO"])
def test_a_fault_that_makes_no_sense_is_refused(fault: str) -> None:
    with pytest.raises((ValueError, KeyError)):
        failpoints.arm(fault)


def test_a_point_that_is_not_in_the_list_is_an_error_once_armed() -> None:
    failpoints.failpoint("nowhere")
    failpoints.arm("cycle.observed")
    with pytest.raises(ValueError, match="nowhere"):
        failpoints.failpoint("nowhere")


def test_a_process_dies_at_the_nth_passing_and_not_before(tmp_path: Path) -> None:
    code = (
        "from console.core import failpoints\n"
        f"failpoints.arm('cycle.observed:3', {str(tmp_path / 'log')!r})\n"
        "for n in range(5):\n    print(n, flush=True); failpoints.failpoint('cycle.observed')\n"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=300)
    assert (done.returncode, done.stdout.split()) == (-9, ["0", "1", "2"])
    lines = (tmp_path / "log").read_text().splitlines()
    assert lines == [*["cycle.observed"] * 3, "cycle.observed struck"]
    again = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=300
    )
    assert again.returncode == 0  # a fault strikes once


@pytest.mark.parametrize("settings", ["production", "local"])
def test_only_the_settings_of_the_tests_start_with_a_fault(settings: str, tmp_path: Path) -> None:
    env = {
        **os.environ,
        "DJANGO_SETTINGS_MODULE": f"console.settings.{settings}",
        "SECRET_KEY": "k8s-" + "x7Qz-" * 12,
        "ALLOWED_HOSTS": "giveway.example.org",
        "GIVEWAY_HOME": str(tmp_path),
        failpoints.FAULT: "cycle.observed",
    }
    done = subprocess.run(
        [sys.executable, "manage.py", "check"], cwd=ROOT, env=env, capture_output=True, text=True, timeout=300
    )
    assert done.returncode != 0
    assert "GIVEWAY_FAULT is set; it is for tests only" in done.stderr
