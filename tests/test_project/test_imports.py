"""The rules between the folders (.importlinter) hold, and each of them refuses what it is there to refuse."""

import ast
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.test_project.repository import ROOT, own_python

PURE = ("contracts", "forecast", "model", "priority", "preemption", "reconcile", "simulate")

VIOLATIONS = [
    ("scheduler/model/__init__.py", "import django.utils.timezone", "The scheduler knows no Django"),
    ("scheduler/__main__.py", "import console.settings", "The scheduler knows no Django"),
    ("scheduler/priority/__init__.py", "import time", "The functional core does no I/O"),
    ("scheduler/reconcile/__init__.py", "from pathlib import Path", "The functional core does no I/O"),
    ("scheduler/priority/__init__.py", "import scheduler.preemption", "Inside the scheduler"),
    (
        "scheduler/preemption/stopping.py",
        "import scheduler.preemption.units.words",
        "Planning methods come into a plan",
    ),
    (
        "scheduler/preemption/balance/__init__.py",
        "import scheduler.preemption.planner",
        "Planning methods stand on the core",
    ),
    ("scheduler/contracts/__init__.py", "import scheduler.priority", "Inside the scheduler"),
    ("scheduler/ports.py", "import scheduler.reconcile", "Inside the scheduler"),
    ("scheduler/adapters/slurm/__init__.py", "import scheduler.preemption", "Adapters read and act"),
    (
        "scheduler/adapters/simulator/__init__.py",
        "import scheduler.adapters.slurm",
        "Slurm and the simulator",
    ),
    ("console/steering/__init__.py", "import scheduler.adapters.slurm", "Only console.cluster.connect"),
    ("console/projects/__init__.py", "import console.steering", "Apps of the console"),
    ("console/projects/__init__.py", "import console.partitions", "Apps of the console"),
    ("console/steering/__init__.py", "import console.reports", "Apps of the console"),
    ("console/cluster/__init__.py", "import console.partitions", "Apps of the console"),
    ("console/core/__init__.py", "import console.accounts", "Apps of the console"),
    ("console/accounts/models.py", "import console.accounts.urls", "Inside every app"),
    ("console/api/__init__.py", "import scheduler.reconcile", "Pages and the API do not plan"),
    ("console/partitions/urls.py", "import console.cluster.connect", "Pages and the API do not plan"),
]


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("rules")
    shutil.copy(ROOT / ".importlinter", folder)
    for package in ("scheduler", "console"):
        shutil.copytree(ROOT / package, folder / package, ignore=shutil.ignore_patterns("__pycache__"))
    return folder


def lint(folder: Path) -> subprocess.CompletedProcess[str]:
    """import-linter puts its working directory first on the path: it looks at the copy, not at us."""
    command = [str(Path(sys.executable).with_name("lint-imports")), "--no-cache", "--no-logo"]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=300)


def test_the_rules_hold(copy: Path) -> None:
    done = lint(copy)
    assert done.returncode == 0, done.stdout + done.stderr
    assert " 0 broken." in done.stdout


@pytest.mark.parametrize(("module", "line", "rule"), VIOLATIONS)
def test_a_planted_violation_is_refused(copy: Path, module: str, line: str, rule: str) -> None:
    path = copy / module
    clean = path.read_text()
    path.write_text(f"{clean}\n{line}\n")
    try:
        done = lint(copy)
    finally:
        path.write_text(clean)
    assert done.returncode == 1, done.stdout + done.stderr
    broken = [text for text in done.stdout.splitlines() if " BROKEN" in text]
    assert any(text.startswith(rule) for text in broken), broken


def test_the_core_opens_prints_and_asks_nothing() -> None:
    """Builtins that do I/O need no import, so the import rules cannot see them."""
    found = []
    for path in own_python("scheduler"):
        if path.relative_to(ROOT / "scheduler").parts[0] in (*PURE, "ports.py"):
            found += [
                f"{path.relative_to(ROOT)}:{node.lineno} {node.id}"
                for node in ast.walk(ast.parse(path.read_text()))
                if isinstance(node, ast.Name)
                and node.id in {"open", "print", "input", "eval", "exec", "breakpoint"}
            ]
    assert found == []
