"""The core of planning knows methods by `scheduler.preemption.methods` only: it names none of them.

What it imports is in .importlinter. For newcomers: docs/development.md, "Add a planning method".
"""

import ast
from pathlib import Path

import pytest

from scheduler.model.policy import Balance, Dispatch
from scheduler.model.snapshot import Snapshot
from scheduler.preemption.planner import METHODS
from scheduler.preemption.planning_run import PlanningRun
from tests.builders import nodes, one_node, pending, running, snapshot
from tests.test_project.repository import ROOT

FOLDER = ROOT / "scheduler" / "preemption"
CORE = sorted(path for path in FOLDER.glob("*.py") if path.name not in {"planner.py", "__init__.py"})
"""`planner.py` is the list of methods."""
NAMES = {path.parent.name for path in FOLDER.glob("*/__init__.py")}
THEIRS = {"pieces", "divided", "elastic", "balanced", "patience_s", "min_units", "min_nodes"}
"""What methods keep with a job, or ask of it and of the policy."""


def asked_for(source: str) -> set[str]:
    """The attributes that some code asks for, and the names that it imports."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Attribute):
            found.add(node.attr)
        elif isinstance(node, ast.ImportFrom):
            found |= {*(node.module or "").split("."), *(alias.name for alias in node.names)}
    return found


@pytest.mark.parametrize("path", CORE, ids=lambda path: path.name)
def test_the_core_asks_for_nothing_that_is_a_methods(path: Path) -> None:
    found = asked_for(
        path.read_text(encoding="utf-8").replace("preemption.pieces import", "preemption import")
    )
    assert not found & THEIRS
    assert not found & (NAMES - {"units"}), "`units` is a field of requests and decisions, too"


def test_what_is_asked_for_is_found() -> None:
    source = "from scheduler.preemption.elastic.method import x\nif runner.pieces:\n    pass\n"
    assert asked_for(source) >= {"elastic", "pieces", "x"}


def on_in(made: Snapshot) -> list[str]:
    return [type(method).__name__ for method in METHODS if method.is_on(made)]


def test_methods_are_on_where_the_policy_and_the_jobs_ask_for_them() -> None:
    plain = [running("a", cpu=4), pending("J", one_node(4), user=0)]
    assert on_in(snapshot(plain, nodes(2))) == []
    assert on_in(snapshot(plain, nodes(2), balance=Balance("cpu", 0.1))) == ["EvenSetsMethod"]
    assert on_in(snapshot(plain, nodes(2), dispatch=Dispatch.MANAGED)) == ["ReservationMethod"]


def test_a_method_that_is_not_on_is_asked_nothing_more(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither when the plan begins nor when something is decided: it has no object in it, and no step."""

    def never(*_: object) -> None:
        raise AssertionError("asked though it is not on")

    for method in METHODS:
        for hook in ("begin", "divide", "giving_way", "pool"):
            monkeypatch.setattr(type(method), hook, never)
    run = PlanningRun(snapshot([running("a", cpu=4)], nodes(2)), METHODS)
    assert run.methods == [] and run.steps(()) == []
