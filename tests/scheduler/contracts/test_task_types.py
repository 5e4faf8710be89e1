"""The library of task types in the priority file (contract B)."""

from typing import Any

import pytest

from scheduler.contracts.config import decode_policy, encode_policy
from scheduler.contracts.errors import InputError
from scheduler.model.task_types import TaskType

ROWS: list[dict[str, Any]] = [
    {"pattern": "TRAIN*", "cpus": 8, "gpus": 2, "memory_mb": 64000, "time_s": 14400},
    {"pattern": "sweep_?", "elastic_min": 2, "elastic_wish": 4},
    {"pattern": "mpi_*", "balanced": True},
    {"pattern": "grow_*", "elastic_min": 2, "elastic_how": "restart"},
    {"pattern": "*", "time_s": 3600},
]


def test_rows_go_in_and_out_in_their_order() -> None:
    policy = decode_policy({"name": "x", "task_types": ROWS})
    assert policy.task_types[1] == TaskType("sweep_?", elastic_min=2, elastic_wish=4)
    assert encode_policy(policy)["task_types"] == ROWS
    assert not decode_policy({"name": "x"}).task_types


@pytest.mark.parametrize(
    ("row", "where", "why"),
    [
        ({}, "$.task_types[0].pattern", "is missing"),
        ({"pattern": "a"}, "$.task_types[0]", "says nothing"),
        ({"pattern": "a", "cpus": 0}, "$.task_types[0].cpus", "at least 1"),
        ({"pattern": "a", "gpus": 1.5}, "$.task_types[0].gpus", "whole"),
        ({"pattern": "a", "elastic_wish": 4}, "$.task_types[0].elastic_min", "is missing"),
        (
            {"pattern": "a", "elastic_min": 4, "elastic_wish": 2},
            "$.task_types[0].elastic_wish",
            "below elastic_min",
        ),
        ({"pattern": "a", "cpus": 1, "elastic_how": "restart"}, "$.task_types[0].elastic_min", "is missing"),
        ({"pattern": "a", "elastic_min": 1, "elastic_how": "soon"}, "$.task_types[0].elastic_how", "inplace"),
        ({"pattern": "a", "balanced": False}, "$.task_types[0]", "says nothing"),
        ({"pattern": "a", "hours": 4}, "$.task_types[0].hours", ""),
    ],
)
def test_a_fault_names_its_field(row: dict[str, Any], where: str, why: str) -> None:
    with pytest.raises(InputError) as raised:
        decode_policy({"name": "x", "task_types": [row]})
    assert raised.value.path == where
    assert why in raised.value.message


def test_a_pattern_stands_once() -> None:
    with pytest.raises(InputError) as raised:
        decode_policy({"name": "x", "task_types": [ROWS[0], ROWS[0]]})
    assert raised.value.path == "$.task_types[1].pattern"
