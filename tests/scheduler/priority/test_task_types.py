"""Which task type a job has, and what it says where the job says nothing."""

import pytest

from scheduler.model.jobs import Request
from scheduler.model.task_types import TaskType
from scheduler.priority.comment import ElasticWords, read_comment
from scheduler.priority.task_types import TaskTypes, request_filled, with_others

TRAIN = TaskType("train_*", gpus=2, cpus=8, memory_mb=64000, elastic_min=2, elastic_wish=4)
ANY = TaskType("*", time_s=60)
COUNTED = {"gpu", "cpu", "mem"}


def test_the_first_type_whose_pattern_fits_counts() -> None:
    types = TaskTypes((TRAIN, ANY))
    assert types.of("train_1") is TRAIN
    assert types.of("Train_1") is ANY
    assert TaskTypes((TRAIN,)).of("other") is None
    assert TaskTypes().of("train_1") is None


def test_what_the_request_leaves_out_is_filled_in_and_nothing_is_overridden() -> None:
    asked = Request(nodes=2, per_node={"cpu": 1})
    assert request_filled(asked, TRAIN, COUNTED).per_node == {"cpu": 1, "mem": 64000}
    asked = Request(nodes=2, per_node={"cpu": 1, "mem": 10})
    assert request_filled(asked, TRAIN, COUNTED) is asked


def test_only_what_the_nodes_have_is_filled_in() -> None:
    asked = Request(nodes=1, per_node={"gpu": 1})
    assert request_filled(asked, TRAIN, {"gpu", "cpu"}).per_node == {"gpu": 1, "cpu": 8}


@pytest.mark.parametrize("asked", [Request(spread={"cpu": 4}), Request(unit={"cpu": 1}, count=3)])
def test_requests_in_other_shapes_stay(asked: Request) -> None:
    assert request_filled(asked, TRAIN, COUNTED) is asked


def test_the_comment_wins_over_the_type_even_where_it_is_not_understood() -> None:
    assert with_others(read_comment("mine"), TRAIN).elastic == ElasticWords(2, 4)
    assert with_others(read_comment("elastic:min=3"), TRAIN).elastic == ElasticWords(3)
    assert with_others(read_comment("elastic:min=5,wish=4"), TRAIN).elastic is None
    assert with_others(read_comment(""), ANY).elastic is None
