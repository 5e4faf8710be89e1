"""docs/traceability.md tells the truth: every module and test that it names exists, and nothing is left out."""

import ast
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

from tests.test_project.repository import ROOT

PAGE = ROOT / "docs" / "traceability.md"
CLAIMS = range(1, 19)
PARAGRAPHS = range(1, 257)
RULES = range(5, 37), range(54, 205)
"""Paragraphs that demand something: the claims' text, and the rules and examples of the embodiments."""
OTHER_CLAIMS = {"001": 12, "002": 7, "003": 10, "004": 10}
"""How many claims the other documents have, as far as they are at hand."""

_CODE = re.compile(r"`([^`\n]+)`")
_TEST = re.compile(r"([\w/]*(?:\.py)?)::(\w+(?:::\w+)*)")
_MODULE = re.compile(r"(\w[\w/]*\.py):(\w+(?:\.\w+)*)")
_PARAGRAPHS = re.compile(r"¶(\d+)(?:[–-]¶?(\d+))?")


@dataclass(frozen=True)
class Row:
    """One row of a table; tests that name no file have got that of their section."""

    number: int
    reference: str
    traced: bool
    modules: tuple[str, ...]
    tests: tuple[str, ...]
    document: str = "000"

    @property
    def paragraphs(self) -> set[int]:
        found = _PARAGRAPHS.findall(self.reference)
        return {n for first, last in found for n in range(int(first), int(last or first) + 1)}

    @property
    def claims(self) -> set[int]:
        return {int(number) for number in re.findall(r"claim (\d+)", self.reference)}


def rows_of(text: str) -> Iterator[Row]:
    """All rows of all tables but the heads. A table with a column `Test` is one that traces."""
    traced, file, inside, document = False, "", False, "000"
    for number, line in enumerate(text.splitlines(), start=1):
        if line.startswith("## "):
            file = ""
        if begins := re.match(r"## Document (\d{3})\b", line):
            document = begins[1]
        if named := re.search(r"Tests named by `::` alone are in `([^`]+)`", line):
            file = named[1]
        if not line.startswith("|"):
            inside = False
            continue
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if not inside:
            inside, traced = True, "Test" in cells
        elif set(line) - set("|-"):
            modules = tuple(_CODE.findall(cells[2])) if traced else ()
            tests = tuple(
                f"{file}{code}" if code.startswith("::") else code
                for code in (_CODE.findall(cells[3]) if traced else ())
            )
            yield Row(number, cells[0], traced, modules, tests, document)


@cache
def names_in(path: Path) -> frozenset[str]:
    """Functions, classes and names of a module, methods and attributes as `Class.name`."""
    return frozenset(_names(ast.parse(path.read_text(encoding="utf-8")).body, ""))


def _names(body: list[ast.stmt], prefix: str) -> Iterator[str]:
    for node in body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield prefix + node.name
            if isinstance(node, ast.ClassDef):
                yield from _names(node.body, f"{prefix}{node.name}.")
        elif isinstance(node, ast.Assign):
            yield from (prefix + target.id for target in node.targets if isinstance(target, ast.Name))
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            yield prefix + node.target.id


def missing(reference: str) -> str:
    """What is wrong with `path:name` or `path::test`; empty when it is there."""
    for pattern, what in ((_TEST, "test"), (_MODULE, "name")):
        if found := pattern.fullmatch(reference):
            path, name = ROOT / found[1], found[2].replace("::", ".")
            if not found[1] or not path.is_file():
                return f"{reference}: there is no such file"
            if what == "test" and not name.rpartition(".")[2].startswith("test_"):
                return f"{reference}: that is no test"
            return "" if name in names_in(path) else f"{reference}: there is no such {what} in the file"
    return f"{reference}: is neither path:name nor path::test"


@pytest.fixture(scope="module")
def document() -> str:
    return PAGE.read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def rows(document: str) -> list[Row]:
    return list(rows_of(document))


def test_every_module_and_test_that_is_named_exists(rows: list[Row]) -> None:
    named = [(row.number, code) for row in rows for code in (*row.modules, *row.tests)]
    assert len(named) > 100, "the tables were not found"
    wrong = [f"line {number}: {told}" for number, code in named if (told := missing(code))]
    assert wrong == [], f"moved or renamed? mend docs/traceability.md: {wrong}"


def test_what_is_named_outside_the_tables_exists_too(document: str) -> None:
    prose = "\n".join(line for line in document.splitlines() if not line.startswith("|"))
    tests = [code for code in _CODE.findall(prose) if re.match(r"tests/.+::\w", code)]
    files = [code for code in _CODE.findall(prose) if re.fullmatch(r"(tests|docs)/[\w/.-]+", code)]
    assert tests and files
    assert [told for code in tests if (told := missing(code))] == []
    assert [code for code in files if not (ROOT / code).is_file()] == []


def test_every_row_names_a_module_and_a_test(rows: list[Row]) -> None:
    traced = [row for row in rows if row.traced]
    assert [row.number for row in traced if not row.modules or not row.tests] == []
    assert all(_TEST.fullmatch(code) for row in traced for code in row.tests)
    assert all(_MODULE.fullmatch(code) for row in traced for code in row.modules)


def test_every_claim_has_a_row_of_its_own(rows: list[Row]) -> None:
    mine = [row for row in rows if row.document == "000"]
    assert sorted(claim for row in mine if row.traced for claim in row.claims) == list(CLAIMS)


@pytest.mark.parametrize(("name", "claims"), OTHER_CLAIMS.items())
def test_every_claim_of_another_document_is_traced_or_said_to_be_open(
    rows: list[Row], name: str, claims: int
) -> None:
    mine = [row for row in rows if row.document == name]
    assert sorted(claim for row in mine for claim in row.claims) == list(range(1, claims + 1))
    assert {row.reference for row in mine if not row.claims} <= {"description", "Giveway's own", "on Slurm"}


def test_every_paragraph_has_a_row(rows: list[Row]) -> None:
    listed = {paragraph for row in rows for paragraph in row.paragraphs}
    assert sorted(set(PARAGRAPHS) - listed) == []
    assert sorted(listed - set(PARAGRAPHS)) == []


def test_a_paragraph_is_traced_or_demands_nothing_and_never_both(rows: list[Row]) -> None:
    traced = {paragraph for row in rows if row.traced for paragraph in row.paragraphs}
    idle = {paragraph for row in rows if not row.traced for paragraph in row.paragraphs}
    assert sorted(traced & idle) == []
    advantages = {84, 94, 99, 113, 126, 132, 145, 159, 171, 177}
    assert sorted({n for rules in RULES for n in rules} - traced) == sorted(advantages)


def test_an_example_that_is_said_to_be_data_is_in_the_data(rows: list[Row]) -> None:
    cases = json.loads((ROOT / "tests" / "vectors" / "patent-priority.json").read_text(encoding="utf-8"))
    there = {int(number) for case in cases for number in re.findall(r"\d+", case["source"])}
    mine = [row for row in rows if row.document == "000"]
    said = [row for row in mine if any("::test_the_documents_example" in test for test in row.tests)]
    assert said
    assert [row.reference for row in said if not row.paragraphs & there] == []


@pytest.mark.parametrize(
    ("reference", "told"),
    [
        ("scheduler/priority/score.py:user_score", ""),
        ("scheduler/preemption/ranking.py:PreemptionScope.class_of", ""),
        ("tests/test_project/test_traceability.py::test_every_paragraph_has_a_row", ""),
        ("scheduler/priority/score.py:user_scores", "no such name"),
        ("scheduler/priority/scores.py:user_score", "no such file"),
        ("scheduler/preemption/ranking.py:class_of", "no such name"),
        ("tests/test_project/test_traceability.py::test_nothing", "no such test"),
        ("tests/test_project/test_traceability.py::missing", "no test"),
        ("::test_without_a_file", "no such file"),
        ("somewhere", "neither"),
    ],
)
def test_the_check_sees_what_is_not_there(reference: str, told: str) -> None:
    assert (told in missing(reference)) if told else missing(reference) == ""


def test_the_tables_are_read_as_they_are_written() -> None:
    text = """
## A
Tests named by `::` alone are in `tests/a.py`.

| Claim | Demands | Module | Test |
|---|---|---|---|
| claim 4, ¶8, ¶95–97 | x | `a.py:b`<br>`c.py:D.e` | `::test_f`<br>`tests/g.py::TestH::test_i` |

## B
| Paragraphs | What |
|---|---|
| ¶1–2 | `no` |
"""
    first, second = rows_of(text)
    assert (first.claims, first.paragraphs, first.modules) == ({4}, {8, 95, 96, 97}, ("a.py:b", "c.py:D.e"))
    assert first.tests == ("tests/a.py::test_f", "tests/g.py::TestH::test_i")
    assert (second.traced, second.paragraphs, second.modules, second.tests) == (False, {1, 2}, (), ())
