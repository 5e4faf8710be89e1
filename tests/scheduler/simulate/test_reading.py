"""Traces and policy files: what is read from them, and that every fault is named with its place."""

import gzip
import json
from collections import Counter
from typing import Any

import pytest

from scheduler.contracts.errors import InputError
from scheduler.simulate.command import read_per_node, read_workload
from scheduler.simulate.policy import (
    ByHash,
    ByPattern,
    MatchedText,
    Pattern,
    Requeue,
    Scheduler,
    Share,
    read_policy,
)
from scheduler.simulate.trace import read_trace
from tests.scheduler.simulate.workloads import row

HEADER = (
    "job_id,submit_s,wait_s,runtime_s,time_limit_s,nodes,cpus,gpus,user,group_or_vc,job_name,state,priority"
)
TRACE = f"""{HEADER}
7,0,,100,60,2,31,0,ann,g1,"a, quoted",DONE,5
8,3,,50,,,,12,,,,,
9,4,,,60,1,1,0,,,,CANCELLED,
10,5,,0,60,4,4,0,,,,,
"""


def test_a_trace_is_read_and_fitted_into_the_cluster() -> None:
    """Limits cut runs off, amounts are rounded up per node, blanks are unknown, what cannot run is told."""
    workload = read_workload(TRACE.encode(), 3, {"cpu": 16, "gpu": 8}, None)
    seven, eight = workload.jobs
    assert (seven.runtime, seven.nodes, seven.amounts) == (60, 2, {"cpu": 16})
    assert (seven.row.user, seven.row.group, seven.row.name, seven.row.priority) == (
        "ann",
        "g1",
        "a, quoted",
        "5",
    )
    assert (eight.runtime, eight.row.limit, eight.nodes, eight.amounts) == (50, None, 2, {"gpu": 6})
    assert [(left.row.row, left.row.id, left.why) for left in workload.left_out] == [
        (4, "9", "its runtime is unknown"),
        (5, "10", "it wants 4 nodes, and there are 3"),
    ]


@pytest.mark.parametrize(
    "data",
    [
        gzip.compress(TRACE.encode()),
        TRACE.replace("\n", "\r\n").encode(),
        b"\xef\xbb\xbf" + TRACE.encode(),
        TRACE.replace("7,0,,", "\n7,0,,").encode(),
    ],
    ids=["gzip", "crlf", "bom", "blank-line"],
)
def test_the_same_in_other_wrappings(data: bytes) -> None:
    expected = read_trace(TRACE.encode())
    assert [each.id for each in read_trace(data)] == [each.id for each in expected]
    assert read_trace(data)[0].name == "a, quoted"
    assert len(read_trace(data, most=2)) == 2


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("7,0,,100", "7,0,,1e2", 'row 2, column runtime_s: must be a whole number, not "1e2"'),
        ("8,3,", "8,-3,", "row 3, column submit_s: must be at least 0, not -3"),
        ("8,3,", "8,,", "row 3, column submit_s: is blank"),
        ("8,3,", "7,3,", 'row 3, column job_id: "7" stands in row 2 already'),
        ("9,4,,,60,1", "9,4,,,60,0", "row 4, column nodes: must be at least 1, not 0"),
        ("9,4,,,60,1", "9,4,,,0,1", "row 4, column time_limit_s: must be at least 1, not 0"),
        ("9,4,", "9,99999999999999,", "row 4, column submit_s: is too large; at most 1000000000000"),
        ("8,3,,", "8,3,", "row 3: has 12 values, not 13 as row 1"),
        ("a, quoted", 'a" quoted', "row 2: is not CSV: ',' expected after '\"'"),
        ("gpus", "gpu", 'row 1: "gpu" is no column of a trace; did you mean gpus?'),
        ("wait_s", "nodes", "row 1: the column nodes stands twice; keep one"),
        ("runtime_s,", "wait_s,", "row 1: the column wait_s stands twice; keep one"),
        (TRACE, HEADER, "row 2: there is no job in the trace"),
        (TRACE, "", "row 1: the column job_id is missing; the first row names the columns"),
    ],
)
def test_a_fault_is_named_with_its_row_and_column(old: str, new: str, message: str) -> None:
    assert old in TRACE
    with pytest.raises(InputError) as caught:
        read_trace(TRACE.replace(old, new, 1).encode())
    assert str(caught.value) == message


def test_broken_bytes_are_named_too() -> None:
    with pytest.raises(InputError, match="row 1: is not a whole gzip file"):
        read_trace(gzip.compress(TRACE.encode())[:-20])
    with pytest.raises(InputError, match="row 2: is not UTF-8"):
        read_trace(TRACE.encode().replace(b"ann", b"\xff"))


@pytest.mark.parametrize(
    "text", ["cpu", "cpu=0", "cpu=4,cpu=4", "tpu=4", "cpu=4;gpu=1", "cpu=-1", "gpu=9999999999", ""]
)
def test_what_a_node_has_is_checked(text: str) -> None:
    with pytest.raises(InputError, match="--per-node"):
        read_per_node(text)


def test_what_a_node_has() -> None:
    assert read_per_node("cpu=64, gpu=8") == {"cpu": 64, "gpu": 8}


# --- Policies ---------------------------------------------------------------------------------------------

POLICY: dict[str, Any] = {
    "schema": "giveway.simulation/1",
    "name": "Make room",
    "scheduler": "preempt",
    "runtimes": "last_two",
    "assumed_limit_s": 3600,
    "partition": {"name": "x", "mode": "user_then_task", "bands": [[0], [1, None]], "exempt_s": 60},
    "user_level": {"by": "group", "patterns": [{"match": "a*", "level": 0}], "otherwise": 2},
    "task_level": {
        "by": "job",
        "seed": "1",
        "shares": [{"level": 0, "share": 1}, {"level": None, "share": 3}],
    },
    "requeue": {"checkpoint_s": 1800, "restart_s": 60},
    "max_stops_per_job": 2,
    "cycle_s": 30,
    "elastic": {"by": "name", "patterns": ["train*"], "min_share": 0.5},
}


RULES = {"name": "x", "mode": "user"}


def decoded(**changes: Any) -> Any:
    """The policy with some keys changed; None takes one away."""
    merged = {key: value for key, value in {**POLICY, **changes}.items() if value is not None}
    return read_policy(json.dumps(merged).encode())


def test_a_policy_is_read() -> None:
    read = decoded()
    assert read.scheduler is Scheduler.PREEMPT
    assert read.partition.bands == ((0,), (1, None))
    assert read.user_level == ByPattern(MatchedText.GROUP, (Pattern("a*", 0),), 2)
    assert read.task_level == ByHash(MatchedText.JOB, "1", (Share(0, 1), Share(None, 3)))
    assert read.requeue == Requeue(1800, 60)
    assert (read.order.value, read.runtimes.value, read.cycle_s, read.max_stops_per_job) == (
        "level",
        "last_two",
        30,
        2,
    )


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"schema": "giveway.simulation/2"}, '$.schema: must be "giveway.simulation/1"'),
        ({"sheduler": "easy"}, "$.sheduler: unknown key; did you mean scheduler?"),
        ({"scheduler": "sjf"}, '$.scheduler: "sjf" is not one of fcfs, easy, preempt'),
        ({"scheduler": "easy"}, '$.requeue: belongs to "scheduler": "preempt"; leave it out'),
        ({"order": "submit"}, '$.order: must be "level" where jobs of higher levels get room made'),
        ({"partition": {**RULES, "quotas": {}}}, "$.partition.quotas: is not simulated; leave it out"),
        ({"partition": {**RULES, "mode": "u"}}, '$.partition.mode: "u" is not one of user, user_then_task'),
        ({"user_level": {"level": 1, "shares": []}}, "$.user_level: give just one of patterns, shares, level"),
        ({"user_level": {"by": "vc", "patterns": []}}, '$.user_level.by: "vc" is not one of user, group'),
        ({"task_level": {"shares": [{"level": 1, "share": 0}]}}, "$.task_level.shares: shares out nothing; give"),
        ({"task_level": {"shares": [{"level": 1, "share": -1}]}}, "$.task_level.shares[0].share: must not be"),
        ({"requeue": {"restart_s": 5}}, "$.requeue.checkpoint_s: is missing"),
        ({"elastic": {"min_share": 1.5}}, "$.elastic.min_share: must be at most 1: all of a job's nodes"),
        ({"cycle_s": 0}, "$.cycle_s: must be at least 1"),
        ({"partition": None}, "$.partition: is missing"),
    ],
)  # fmt: skip
def test_a_fault_of_a_policy_is_named_with_its_path(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError) as caught:
        decoded(**changes)
    assert str(caught.value).startswith(message)


def test_levels_by_hash_are_dealt_out_as_asked_and_always_alike() -> None:
    rule = decoded().task_level
    levels = [rule.of(row(str(i))) for i in range(4000)]
    counts = Counter(levels)
    assert counts.keys() == {0, None}
    assert 900 < counts[0] < 1100
    assert [i for i in range(30) if levels[i] == 0] == [16, 17, 18, 23, 28]
    other = decoded(task_level={**POLICY["task_level"], "seed": "2"}).task_level
    assert [other.of(row(str(i))) for i in range(40)] != levels[:40]


def test_levels_by_pattern_the_first_that_matches_counts() -> None:
    rule = decoded(
        user_level={"by": "priority", "patterns": [{"match": "1?", "level": 0}, {"match": "*", "level": 1}]}
    ).user_level
    assert [rule.of(row("1", priority=priority)) for priority in ("15", "150", "")] == [0, 1, 1]


def test_the_smallest_share_of_an_elastic_job_is_rounded_up() -> None:
    rule = decoded().elastic
    assert [rule.least(count) for count in (1, 2, 5)] == [1, 1, 3]
    assert [rule.covers(row("1", name=name)) for name in ("train7", "eval")] == [True, False]
