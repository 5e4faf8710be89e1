"""`python -m scheduler forecast` as a process: contract D from outside."""

import csv
import gzip
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.forecast.made import jobs

ROOT = Path(__file__).parents[2]
SMALL = Path(__file__).parent / "small.csv"
TIMES = ("train_s", "predict_us")


def run(*arguments: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "scheduler", "forecast", *map(str, arguments)],
        capture_output=True,
        text=True,
        cwd=ROOT,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        timeout=120,
    )


def refused(done: subprocess.CompletedProcess[str]) -> str:
    assert done.returncode == 2, done.stderr
    assert done.stdout == ""
    assert done.stderr.count("\n") == 1
    assert "Traceback" not in done.stderr
    return done.stderr


def answered(*arguments: object) -> dict:
    done = run(*arguments, "--json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def write(path: Path, columns: str, *rows: str) -> Path:
    path.write_text("\n".join([columns, *rows]) + "\n", encoding="utf-8")
    return path


def test_the_small_trace() -> None:
    result = answered("--trace", SMALL)
    assert result["schema"] == "giveway.forecast/1"
    assert result["jobs"] == 240
    assert result["scored"] == 72
    assert list(result["methods"]) == ["model", "limit", "last_two", "median"]
    for method in result["methods"].values():
        assert 0 < method["accuracy"] <= 1
        assert 0 <= method["underestimated"] <= 1
    model = result["methods"]["model"]
    assert 0 <= model["coverage_90"] <= 1
    assert model["width_90_s"] > 0
    assert set(TIMES) <= set(model)
    assert model["accuracy"] > result["methods"]["limit"]["accuracy"]


def test_the_same_input_gives_the_same_figures_plain_or_packed(tmp_path: Path) -> None:
    packed = tmp_path / "small.csv.gz"
    packed.write_bytes(gzip.compress(SMALL.read_bytes()))
    first, second = answered("--trace", SMALL), answered("--trace", packed)
    for result in (first, second):
        for key in TIMES:
            del result["methods"]["model"][key]
    assert first == second


def test_a_wait_below_zero_is_an_unknown_one(tmp_path: Path) -> None:
    lines = SMALL.read_text(encoding="utf-8").splitlines()
    told = {}
    for wait in ("", "-1"):
        rows = [",".join([*cells[:2], wait, *cells[3:]]) for cells in (line.split(",") for line in lines[1:])]
        told[wait] = answered("--trace", write(tmp_path / "t.csv", lines[0], *rows))["methods"]["median"]
    assert told[""] == told["-1"] != answered("--trace", SMALL)["methods"]["median"]


def test_the_split_says_how_much_is_scored() -> None:
    assert answered("--trace", SMALL, "--split", "0.9")["scored"] == 24
    assert answered("--trace", SMALL, "--split", "0.5")["scored"] == 120


def test_for_people() -> None:
    done = run("--trace", SMALL)
    assert done.returncode == 0
    assert "the last 72 by submission time are scored" in done.stdout
    assert "coverage_90" in done.stdout


def test_what_a_trace_cannot_serve_is_null(tmp_path: Path) -> None:
    rows = [f"{number},{10 * number},{number % 7}" for number in range(40)]
    methods = answered("--trace", write(tmp_path / "bare.csv", "job_id,submit_s,runtime_s", *rows))["methods"]
    assert methods["limit"] is None
    assert methods["last_two"] is None
    assert methods["median"]["accuracy"] > 0
    assert methods["model"]["accuracy"] > 0


def test_rows_in_any_order_and_without_run_times(tmp_path: Path) -> None:
    with SMALL.open(encoding="utf-8", newline="") as file:
        header, *rows = list(csv.reader(file))
    rows.reverse()
    rows.append([*["x", "7", "", ""], *[""] * (len(header) - 4)])
    path = write(tmp_path / "turned.csv", ",".join(header), *map(",".join, rows))
    turned, straight = answered("--trace", path), answered("--trace", SMALL)
    assert turned["jobs"] == 241
    assert turned["methods"]["limit"] == straight["methods"]["limit"]


@pytest.mark.parametrize("split", ["0", "1", "-0.5", "nan", "inf", "x", "", "1e-9"])
def test_a_split_that_is_none(split: str) -> None:
    assert "--split" in refused(run("--trace", SMALL, f"--split={split}"))


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ([], "there is no job"),
        (["1,5,"], "no job to train on"),
        (["1,5,7"], "no job to train on"),
        (["1,5,-7"], "row 2, column runtime_s"),
        (["1,5,9999999999999"], "too large"),
    ],
)
def test_traces_that_are_none(tmp_path: Path, rows: list[str], said: str) -> None:
    assert said in refused(run("--trace", write(tmp_path / "t.csv", "job_id,submit_s,runtime_s", *rows)))


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    assert "cannot be read" in refused(run("--trace", tmp_path / "none.csv"))


def test_other_commands_do_not_load_the_arrays() -> None:
    code = "import sys, scheduler.__main__; sys.exit('numpy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT).returncode == 0


def test_the_small_trace_is_what_the_tests_jobs_are() -> None:
    with SMALL.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [(row["job_id"], int(row["runtime_s"])) for row in rows] == [
        (job.id, job.runtime_s) for job in jobs(240)
    ]
