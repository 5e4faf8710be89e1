"""The comparison of ways to choose GPUs (`bench/even_sets.py`) on a small trace."""

import random
from pathlib import Path

import pytest

from bench.even_sets import Outcome, TracedJob, compare, draw, lines, main, read, replay
from bench.even_sets_ways import WAYS, Machines

TRACE = """job_id,submit_s,wait_s,runtime_s,time_limit_s,nodes,cpus,gpus,user,group_or_vc,job_name,state,priority
a,0,,3600,,1,,2,,,,PASSED,
b,10,,3600,,1,,1,,,,PASSED,
c,20,,,,1,,1,,,,KILLED,
d,30,,600,,1,,0,,,,PASSED,
e,40,,3600,,2,,4,,,,PASSED,
"""
SECONDS = [[1.0, 1.2], [1.0, 1.0], [1.1, 1.1]]


def run(way: str, *jobs: TracedJob) -> Outcome:
    return replay(jobs, Machines(SECONDS), WAYS[way])


@pytest.mark.parametrize(
    ("way", "lost"),
    [("first free", 1.2 * (1 - 1 / 1.2)), ("even nodes", 0.0), ("even devices", 0.0)],
)
def test_a_job_on_two_gpus_loses_what_one_waits_for_the_other(way: str, lost: float) -> None:
    outcome = run(way, TracedJob(0, 3600, 2))
    assert outcome.lost == pytest.approx(lost)
    assert outcome.runs == 1


def test_a_run_lasts_as_long_as_its_slowest_gpu_makes_it() -> None:
    assert run("first free", TracedJob(0, 3600, 2)).held == pytest.approx(2 * 1.2)


def test_larger_jobs_take_whole_nodes_that_are_close_together() -> None:
    assert run("even devices", TracedJob(0, 3600, 4)).lost == pytest.approx(1.1 * 2 * (1 - 1 / 1.1))
    assert run("first free", TracedJob(0, 3600, 4)).lost == pytest.approx(1.2 * 3 * (1 - 1 / 1.2))


@pytest.mark.parametrize("way", WAYS)
def test_nobody_gets_what_another_has_and_all_run(way: str) -> None:
    jobs = [TracedJob(i, 100, gpus) for i, gpus in enumerate((6, 2, 1, 4, 1, 1, 9))]
    outcome = run(way, *jobs)
    assert len(outcome.waits) == 6, "all but the one that is larger than the cluster"
    assert outcome.waits[0] == 0
    assert min(outcome.waits[1:]) > 90, "nothing is free beside the first one"


def test_the_spread_is_the_one_that_was_read() -> None:
    every = sorted(each for node in draw(500, 8, 0.08, random.Random(1)) for each in node)
    inside = [each for each in every if 0.96 <= each <= 1.04]
    assert 0.92 < len(inside) / len(every) < 0.97
    assert 1.2 < every[-1] <= 1.5
    assert abs(every[len(every) // 2] - 1) < 0.005


def test_it_reads_what_ran_on_gpus_and_prints_each_way(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "small.csv"
    path.write_text(TRACE)
    assert [job.gpus for job in read(path)] == [2, 1, 4]
    main(["--trace", str(path), "--nodes", "4", "--gpus", "2", "--seeds", "2"])
    printed = capsys.readouterr().out.splitlines()
    assert len(printed) == 2 + 2 * len(WAYS)
    assert printed[2].startswith("| 8% | by chance | 2 |")


def test_what_is_saved_is_against_chance() -> None:
    found = compare([TracedJob(0, 3600, 2)], 4, 2, 0.08, 1)
    row = [line for line in lines(0.08, found) if "by chance" in line]
    assert " | 0 | 0% | " in row[0]
