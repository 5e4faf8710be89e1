"""`python -m scheduler simulate` as a process, and the answer for people."""

import gzip
import json
import re
import subprocess
import sys
from pathlib import Path
from subprocess import CompletedProcess

import pytest

from scheduler.__main__ import main
from scheduler.simulate.command import answer
from scheduler.simulate.policy import Scheduler, read_policy
from scheduler.simulate.trace import read_trace
from tests.scheduler.simulate.workloads import on, policy, row
from tests.scheduler.test_command import one_line, run

TRACE = "job_id,submit_s,runtime_s,time_limit_s,nodes,cpus,group_or_vc\n" + "".join(
    f"{i},{10 * i},{100 + i % 7 * 40},400,{1 + i % 3},{1 + i % 3},{'low' if i % 4 else 'high'}\n"
    for i in range(60)
)
DOCS = Path(__file__).parents[3] / "docs"
SACCT = """\
1|1795309233|1795309234|2|10|1|billing=1,cpu=1,gres/gpu=2,mem=10M,node=1|ann|all|COMPLETED|1|tr|ain, `x`
2|1795309234|1795309234|3|525600|2|billing=4,cpu=4,mem=20M,node=2|bob|all|COMPLETED|1|sbatch
3_1|1795309234|1795309234|1|60|1|billing=1,cpu=1,mem=10M,node=1|bob|all|COMPLETED|1|sbatch
4|1795309236|Unknown|0|Partition_Limit|1||bob|all|CANCELLED by 0|1|sbatch
"""
EXPECTED = [
    ("1", 1795309233, 2, 600, 1, 1, 2, "ann", "tr|ain, `x`"),
    ("2", 1795309234, 3, 31536000, 2, 4, 0, "bob", "sbatch"),
    ("3_1", 1795309234, 1, 3600, 1, 1, 0, "bob", "sbatch"),
    ("4", 1795309236, None, None, None, None, None, "bob", "sbatch"),
]
LEVELS = {"by": "group", "patterns": [{"match": "high", "level": 0}], "otherwise": 1}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A trace, plain and gzip, and two policies."""
    (tmp_path / "trace.csv").write_text(TRACE)
    (tmp_path / "trace.csv.gz").write_bytes(gzip.compress(TRACE.encode()))
    for name in ("easy", "preempt"):
        text = {
            "schema": "giveway.simulation/1", "name": name.upper(), "scheduler": name,
            "partition": {"name": "x", "mode": "user"}, "user_level": LEVELS,
        }  # fmt: skip
        (tmp_path / f"{name}.json").write_text(json.dumps(text))
    return tmp_path


def simulate(folder: Path, *more: str, trace: str = "trace.csv", policy: str = "easy.json") -> list[str]:
    """The arguments of a run."""
    files = ["--trace", str(folder / trace), "--policy", str(folder / policy)]
    return ["simulate", *files, "--nodes", "4", "--per-node", "cpu=1", *more]


def test_a_trace_and_two_policies_in_figures_out(folder: Path) -> None:
    compare = ("--compare", str(folder / "preempt.json"))
    done = run(*simulate(folder, "--json", *compare, trace="trace.csv.gz"))
    assert done.stderr == b""
    assert done.returncode == 0
    assert done.stdout == run(*simulate(folder, "--json", *compare)).stdout
    found = json.loads(done.stdout)
    assert (found["schema"], found["jobs"], found["left_out"]) == ("giveway.simulated/1", 60, [])
    easy, preempt = found["policies"]
    assert [level["level"] for level in preempt["levels"]] == ["P0", "P1"]
    assert preempt["levels"][0]["wait_s"]["mean"] < easy["levels"][0]["wait_s"]["mean"]
    assert preempt["all"]["stops"] > 0 == easy["all"]["stops"]
    assert preempt["all"]["lost"]["cpu"] > 0 == easy["all"]["lost"]["cpu"]
    assert preempt["utilisation"]["cpu"] > preempt["utilisation_useful"]["cpu"]


@pytest.mark.parametrize(
    ("change", "more", "message"),
    [
        (("trace.csv", "3,30,", "3,x,"), [], '/trace.csv: row 5, column submit_s: must be a whole number, not "x"'),
        (("trace.csv", ",400,", ",,"), [], "row 2, column time_limit_s: is blank, and the policy EASY expects"),
        (("easy.json", '"easy"', '"hard"'), [], '/easy.json: $.scheduler: "hard" is not one of'),
        (None, ["--compare", "/no/such"], "/no/such cannot be read: No such file or directory"),
        (None, ["--limit-jobs", "0"], "--limit-jobs: must be at least 1"),
        (None, ["--per-node", "gpu=8"], "row 2: no job can be simulated; the first: it wants 1 cpu on a node"),
    ],
)  # fmt: skip
def test_bad_input_is_one_line_and_status_2(
    folder: Path,
    change: tuple[str, str, str] | None,
    more: list[str],
    message: str,
    capsysbinary: pytest.CaptureFixture[bytes],
) -> None:
    if change:
        name, old, new = change
        path = folder / name
        path.write_text(path.read_text().replace(old, new, 1))
    arguments = simulate(folder, *more)
    status = main(arguments)
    assert message in one_line(CompletedProcess(arguments, status, *capsysbinary.readouterr()))


def test_the_table_shows_the_policies_side_by_side_and_who_is_left_out() -> None:
    jobs = [
        row("a", 0, 7200, 2, group="g1"),
        row("b", 60, 60, 1, group="g0"),
        row("big\x1b[2J", 0, 60, 3, row=9),
    ]
    text = answer(on(2, jobs), [policy(), policy(Scheduler.PREEMPT, cycle_s=60)], as_json=False)
    lines = [" ".join(line.split()) for line in text.splitlines()]
    assert lines[:3] == [
        "2 jobs on 2 nodes of 1 cpu.",
        "Left out: 1 job.",
        "big?[2J (row 9): it wants 3 nodes, and there are 2",
    ]
    assert "waiting, mean 59 min 30 s" not in text
    block = lines[lines.index("P0 1 job 1 job") :]
    assert block[1] == "waiting, mean 1 h 59 min 0 s"
    assert block[block.index("P1 1 job 1 job") + 8] == "work lost 0.0 cpu-hours 0.0 cpu-hours"
    assert len({len(line) for line in text.splitlines() if "waiting" in line}) == 1


def test_the_worked_example_of_the_documentation(
    tmp_path: Path, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    page = (DOCS / "methods" / "simulation.md").read_text(encoding="utf-8")
    files = dict(re.findall(r"`([\w-]+\.(?:csv|json))`:\n\n```\w+\n(.*?)```", page, flags=re.DOTALL))
    command, table = re.search(
        r"`python -m scheduler (simulate .*?)`\n\n```\n(.*?)```", page, re.DOTALL
    ).groups()  # type: ignore[union-attr]
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    arguments = [str(tmp_path / word) if word in files else word for word in command.split()]
    assert main(arguments) == 0
    assert capsysbinary.readouterr().out.decode() == table


def test_the_policy_of_the_contracts_page_is_one() -> None:
    page = (DOCS / "contracts.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```json\n(.*?)```", page, flags=re.DOTALL)
    (text,) = [block for block in blocks if "giveway.simulation/1" in block]
    assert read_policy(text.encode()).elastic is not None
    (shown,) = [json.loads(block) for block in blocks if "giveway.simulated/1" in block]
    found = json.loads(answer(on(1, [row("1")]), [policy()], as_json=True))
    assert found.keys() == shown.keys()
    assert found["policies"][0].keys() == shown["policies"][0].keys()
    assert found["policies"][0]["all"].keys() == shown["policies"][0]["all"].keys()


def test_what_sacct_prints_becomes_a_trace() -> None:
    """The lines are those of sacct 22.05.8, for the command that the page has."""
    command = [sys.executable, str(DOCS.parent / "examples" / "sacct_to_trace.py")]
    done = subprocess.run(command, input=SACCT, capture_output=True, text=True, check=True, timeout=300)
    rows = read_trace(done.stdout.encode())
    assert [
        (r.id, r.submit, r.runtime, r.limit, r.nodes, r.cpus, r.gpus, r.user, r.name) for r in rows
    ] == EXPECTED
