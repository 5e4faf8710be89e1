"""What the doctor can say, read out of its source: each sentence has its line, so that it is said in Chinese, too."""

import ast
from collections.abc import Iterator

from console.core.doctor_phrases import CHECKS, FINDINGS
from console.core.resaying import PLACE
from tests.test_project.repository import ROOT

DOCTOR = ROOT / "console" / "health" / "doctor"
TELL = frozenset({"ok", "warn", "fail", "tell"})
HOLE = "{}"
DJANGOS = frozenset({f"{HOLE}: {HOLE}", "message.hint"})
"""What Django's own check finds and advises stays English, and is marked so."""
HANDED_ON = frozenset({"name", "database.NAME"})
"""Names of checks that are told elsewhere, too."""
SLURMS = frozenset({"slurmctld", "slurm.conf", "job_submit"})
Names = dict[str, list[ast.expr]]
Told = tuple[str, ast.expr, Names]


def texts(said: ast.expr, names: Names) -> Iterator[str]:
    """Every text that an expression may be, with a hole for each value; its source where that cannot be told."""
    match said:
        case ast.Constant(value=str(text)):
            yield text
        case ast.JoinedStr(values=parts):
            yield "".join(str(part.value) if isinstance(part, ast.Constant) else HOLE for part in parts)
        case ast.IfExp(body=one, orelse=other):
            yield from [*texts(one, names), *texts(other, names)]
        case ast.BoolOp(values=choices):
            yield from (text for choice in choices for text in texts(choice, names))
        case ast.Name(id=name) if name in names:
            yield from (text for value in names[name] for text in texts(value, names))
        case _:
            yield ast.unparse(said)


def assigned(body: list[ast.stmt]) -> Names:
    """What names are given there: `cure = …`, and `latest, cure = …`."""
    names: Names = {}
    for node in (node for statement in body for node in ast.walk(statement)):
        match node:
            case ast.Assign(targets=[ast.Tuple(elts=targets)], value=ast.Tuple(elts=values)):
                pairs = zip(targets, values, strict=True)
            case ast.Assign(targets=[target], value=value):
                pairs = zip([target], [value], strict=True)
            case _:
                continue
        for target, value in pairs:
            names.setdefault(ast.unparse(target), []).append(value)
    return names


def told() -> Iterator[Told]:
    """`check` or `sentence`, what the doctor's source has there, and what names are there."""
    for path in DOCTOR.glob("*.py"):
        module = ast.parse(path.read_text(encoding="utf-8")).body
        globally = assigned([line for line in module if not isinstance(line, ast.FunctionDef)])
        for function in (line for line in module if isinstance(line, ast.FunctionDef)):
            names = globally | assigned(function.body)
            for call in ast.walk(function):
                if isinstance(call, ast.Call) and ast.unparse(call.func) in TELL:
                    for kind, said in zip(("check", "sentence", "sentence"), call.args, strict=False):
                        yield kind, said, names


def test_every_finding_has_its_line_and_every_line_its_finding() -> None:
    sentences = {text for kind, said, names in told() if kind == "sentence" for text in texts(said, names)}
    assert len(sentences) > 100
    assert sentences - DJANGOS == {PLACE.sub(HOLE, line) for line in FINDINGS}


def test_every_check_has_its_name() -> None:
    checks = {text for kind, said, names in told() if kind == "check" for text in texts(said, names)}
    assert checks - HANDED_ON == {*CHECKS, *SLURMS}
