"""`python -m scheduler plan|explain` as a process: contract A from outside."""

import json
import os
import random
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from scheduler.contracts.plan import encode_plan
from scheduler.contracts.snapshot import decode_snapshot, encode_snapshot
from scheduler.preemption.planner import plan
from tests.builders import nodes, on_nodes, one_node, pending, running, snapshot
from tests.scheduler.contracts.documents import SNAPSHOT, Change, changed, drop, put

ROOT = Path(__file__).parents[2]
Done = subprocess.CompletedProcess[bytes]


def run(*arguments: str, data: bytes | str = b"", env: Mapping[str, str] | None = None) -> Done:
    """The command with something on its standard input."""
    return subprocess.run(
        [sys.executable, "-m", "scheduler", *arguments],
        input=data.encode() if isinstance(data, str) else data,
        capture_output=True,
        cwd=ROOT,
        env={**os.environ, **(env or {})},
        timeout=300,
    )


def one_line(done: Done) -> str:
    """The only line on stderr of a refused input; nothing is on stdout."""
    assert done.returncode == 2, done.stderr.decode()
    assert done.stdout == b""
    text = done.stderr.decode()
    assert text.endswith("\n")
    assert text.count("\n") == 1
    assert "Traceback" not in text
    return text.rstrip("\n")


@pytest.fixture(scope="module")
def document() -> str:
    return json.dumps(SNAPSHOT)


@pytest.fixture
def file(tmp_path: Path, document: str) -> Path:
    path = tmp_path / "snapshot.json"
    path.write_text(document, encoding="utf-8")
    return path


class TestPlan:
    def test_a_file_in_a_plan_out(self, file: Path) -> None:
        done = run("plan", str(file))
        assert done.returncode == 0
        assert done.stderr == b""
        assert json.loads(done.stdout) == {
            "schema": "giveway.plan/1",
            "decisions": [
                {
                    "job": "102",
                    "action": "preempt",
                    "nodes": ["n1"],
                    "victims": [{"job": "101", "how": "requeue"}],
                    "reason": "lower_user",
                    "explain": (
                        "102 (bob, P1, task L0) needs 6 cpu on one node; n1 has 4 cpu free. "
                        "Stopping 101 (ann, P2, task unconfigured, ran 2 h 45 min) makes room on n1."
                    ),
                }
            ],
        }

    @pytest.mark.parametrize("arguments", [["plan"], ["plan", "-"]])
    def test_standard_input_is_read_without_a_file(
        self, arguments: list[str], file: Path, document: str
    ) -> None:
        assert run(*arguments, data=document).stdout == run("plan", str(file)).stdout

    def test_the_output_ends_with_a_line_and_is_what_the_core_plans(self, document: str) -> None:
        out = run("plan", data=document).stdout
        assert out.endswith(b"}\n")
        assert json.loads(out) == encode_plan(plan(decode_snapshot(SNAPSHOT)))

    def test_the_same_input_in_another_order_gives_the_same_bytes(self) -> None:
        jobs = [
            running(str(i), f"n{i % 5 + 1}", 2, user=i % 4, task=i % 3, ran=60 * (i % 7)) for i in range(20)
        ]
        urgent = [pending(f"J{i}", on_nodes(i % 3 + 1, 3), user=i % 3) for i in range(6)]
        made = encode_snapshot(snapshot([*jobs, *urgent], nodes(5)))
        outputs = set()
        for seed in range(4):
            chance = random.Random(seed)
            shuffled = {**made, "nodes": [*made["nodes"]], "jobs": [*made["jobs"]]}
            chance.shuffle(shuffled["nodes"])
            chance.shuffle(shuffled["jobs"])
            keys = list(shuffled)
            chance.shuffle(keys)
            text = json.dumps({key: shuffled[key] for key in keys}, indent=seed)
            done = run("plan", data=text, env={"PYTHONHASHSEED": str(seed)})
            assert done.returncode == 0
            outputs.add(done.stdout)
        assert len(outputs) == 1
        assert b"preempt" in outputs.pop()

    def test_names_in_any_script_come_out_as_they_went_in(self) -> None:
        made = snapshot(
            [running("1", cpu=8, user=3, of="andré"), pending("任务", one_node(1), user=0, of="анна")]
        )
        done = run(
            "plan", data=json.dumps(encode_snapshot(made)), env={"LC_ALL": "C", "PYTHONIOENCODING": "ascii"}
        )
        assert "任务 (анна, P0)" in done.stdout.decode()

    def test_a_byte_order_mark_does_no_harm(self, document: str) -> None:
        assert run("plan", data=b"\xef\xbb\xbf" + document.encode()).returncode == 0


class TestExplain:
    def test_of_a_pending_job(self, file: Path) -> None:
        done = run("explain", "102", str(file))
        assert done.returncode == 0
        assert done.stdout.decode().splitlines()[:2] == [
            "102 (bob, P1, task L0) has been waiting for 10 s.",
            "Verdict: preempt (lower_user). Jobs of lower users make room.",
        ]

    def test_of_a_running_job_from_standard_input(self, document: str) -> None:
        done = run("explain", "101", data=document)
        assert "It is to be stopped (requeued) for 102 (bob, P1, task L0)." in done.stdout.decode()

    def test_of_a_job_that_is_not_there(self, document: str) -> None:
        assert one_line(run("explain", "999", data=document)) == (
            '$.jobs: there is no job "999"; give the id of one that is there'
        )

    def test_hostile_names_cannot_drive_the_terminal(self) -> None:
        made = snapshot([running("1\x1b[2J", cpu=8, user=3, of="a\nb"), pending("J", one_node(1), user=0)])
        out = run("explain", "J", data=json.dumps(encode_snapshot(made))).stdout.decode()
        assert "\x1b" not in out
        assert all(line.isprintable() for line in out.splitlines())


class TestUsage:
    @pytest.mark.parametrize("arguments", [["--help"], ["plan", "--help"], ["explain", "-h"]])
    def test_help_is_there(self, arguments: list[str]) -> None:
        done = run(*arguments)
        assert done.returncode == 0
        assert b"usage: python -m scheduler" in done.stdout

    @pytest.mark.parametrize("arguments", [[], ["paln"], ["plan", "a", "b"], ["explain"], ["plan", "--nice"]])
    def test_bad_usage_is_exit_2(self, arguments: list[str]) -> None:
        done = run(*arguments)
        assert done.returncode == 2
        assert done.stdout == b""
        assert b"usage:" in done.stderr

    def test_a_reader_that_leaves_early_is_no_error_to_complain_about(self, tmp_path: Path) -> None:
        """`python -m scheduler plan big | head -1`."""
        jobs = [pending(f"J{i}", one_node(1), user=i % 3) for i in range(3000)]
        big = tmp_path / "big.json"
        big.write_text(json.dumps(encode_snapshot(snapshot(jobs, nodes(3)))), encoding="utf-8")
        process = subprocess.Popen(
            [sys.executable, "-m", "scheduler", "plan", str(big)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=ROOT,
        )
        assert process.stdout is not None
        assert process.stderr is not None
        with process:
            assert process.stdout.read(1) == b"{"
            process.stdout.close()
            assert process.stderr.read() == b""
        assert process.returncode == 1

    @pytest.mark.parametrize("unbuffered", ["", "1"])
    def test_a_long_answer_arrives_whole(self, unbuffered: str) -> None:
        """A pipe holds 64 KB; a plan may be longer, and the reader slower."""
        jobs = [pending(f"J{i}", one_node(1), user=i % 3) for i in range(2000)]
        data = json.dumps(encode_snapshot(snapshot(jobs, nodes(3))))
        done = run("plan", data=data, env={"PYTHONUNBUFFERED": unbuffered})
        assert len(done.stdout) > 200_000
        assert len(json.loads(done.stdout)["decisions"]) == 2000

    def test_neither_a_database_nor_django_is_needed(self, document: str) -> None:
        code = (
            "import sys, runpy\n"
            "class Closed:\n"
            "    def find_spec(self, name, path=None, target=None):\n"
            "        if name.split('.')[0] in {'django', 'celery', 'redis', 'console', 'sqlite3'}:\n"
            "            raise ImportError(name)\n"
            "sys.meta_path.insert(0, Closed())\n"
            "sys.argv = ['scheduler', 'plan']\n"
            "runpy.run_module('scheduler', run_name='__main__')\n"
        )
        done = subprocess.run(
            [sys.executable, "-c", code], input=document.encode(), capture_output=True, cwd=ROOT, timeout=300
        )
        assert done.returncode == 0, done.stderr.decode()


BROKEN: Mapping[str, tuple[bytes, str]] = {
    "nothing": (b"", "$: is not JSON"),
    "half a document": (b'{"schema": "giveway.snapshot/1", "now": ', "$: is not JSON"),
    "two documents": (b"{} {}", "$: is not JSON"),
    "another encoding": ('{"schema": "\xe9"}'.encode("latin-1"), "$: is not UTF-8"),
    "no object": (b"[]", "$: must be an object, not a list"),
    "a text": (b'"snapshot"', '$: must be an object, not the text "snapshot"'),
    "null": (b"null", "$: must be an object, not null"),
    "an abyss": (b"[" * 200_000, "$: is nested too deeply"),
    "a key twice": (b'{"schema": "giveway.snapshot/1", "now": 1, "now": 2}', "$.now: stands twice"),
}


@pytest.mark.parametrize("fault", BROKEN)
@pytest.mark.parametrize("arguments", [["plan"], ["explain", "102"]], ids=["plan", "explain"])
def test_what_is_no_document_is_refused_in_one_line(fault: str, arguments: list[str]) -> None:
    data, message = BROKEN[fault]
    assert one_line(run(*arguments, data=data)).startswith(message)


WRONG: Mapping[str, tuple[Change, str]] = {
    "schema": (put("schema", "giveway.snapshot/9"), "$.schema: must be"),
    "now": (put("now", True), "$.now: must be a whole number, not true"),
    "unknown key": (put("jobz", []), "$.jobz: unknown key; did you mean jobs?"),
    "mode": (put("partition.mode", "fifo"), "$.partition.mode: "),
    "bands": (put("partition.bands", [[1], [0]]), "$.partition.bands[1]: "),
    "node amount": (put("nodes.0.total.cpu", -1), "$.nodes[0].total.cpu: must not be negative"),
    "node twice": (lambda d: d["nodes"].append(d["nodes"][0]), "$.nodes[1].name: "),
    "job twice": (lambda d: d["jobs"].append(d["jobs"][0]), "$.jobs[2].id: "),
    "unknown node": (put("jobs.0.alloc", {"n9": {"cpu": 1}}), "$.jobs[0].alloc.n9: there is no such node"),
    "no start": (drop("jobs.0.start"), "$.jobs[0].start: is missing"),
    "no request": (drop("jobs.1.request"), "$.jobs[1].request: is missing"),
    "two shapes": (put("jobs.1.request.spread", {"cpu": 1}), "$.jobs[1].request: has two shapes"),
    "units": (put("jobs.1.request", {"unit": {"cpu": 1}, "count": 0}), "$.jobs[1].request.count: must be at least 1"),
    "elastic": (put("jobs.0.elastic", {"min_node": 1}), "$.jobs[0].elastic.min_node: unknown key"),
    "patience": (put("partition.patience_s", -5), "$.partition.patience_s: must not be negative"),
    "balance": (put("partition.balance", {"resource": "gpu"}), "$.partition.balance.max_distance: is missing"),
    "level": (put("jobs.1.user_level", "P0"), "$.jobs[1].user_level: must be a whole number"),
    "a key with a newline": (put("jobs.0.a\nb", 1), '$.jobs[0]["a\\nb"]: unknown key'),
}  # fmt: skip


@pytest.mark.parametrize("fault", WRONG)
def test_what_is_wrong_is_refused_in_one_line_that_names_the_path(fault: str) -> None:
    change, message = WRONG[fault]
    assert one_line(run("plan", data=json.dumps(changed(SNAPSHOT, change)))).startswith(message)


def test_numbers_that_json_does_not_have_are_refused(document: str) -> None:
    for number in ("NaN", "Infinity", "-Infinity", "1e999"):
        line = one_line(run("plan", data=document.replace("1700000000", number, 1)))
        assert line.startswith("$.now: must be a whole number")
    line = one_line(run("plan", data=document.replace("1700000000", "9" * 5000, 1)))
    assert line.startswith("$.now: is too large")


def test_the_file_is_named_in_front_of_the_path(tmp_path: Path) -> None:
    path = tmp_path / "broken.json"
    path.write_text(json.dumps(changed(SNAPSHOT, drop("now"))), encoding="utf-8")
    assert one_line(run("plan", str(path))) == f"{path}: $.now: is missing"


@pytest.mark.parametrize("name", ["not_there.json", "."])
def test_a_file_that_cannot_be_read_is_said_so(name: str, tmp_path: Path) -> None:
    assert f"{tmp_path / name} cannot be read" in one_line(run("plan", str(tmp_path / name)))


def test_a_hostile_file_name_stays_on_one_line() -> None:
    assert "cannot be read" in one_line(run("plan", "no\nsuch\x1b[31mfile"))


def test_every_example_of_the_contract_page_can_be_planned_twice(document: str) -> None:
    """Same input, same output, byte for byte."""
    assert run("plan", data=document).stdout == run("plan", data=document).stdout
