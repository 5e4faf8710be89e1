"""Which jobs belong together, by what their users say."""

from dataclasses import replace
from typing import Any

import pytest

from scheduler.model.jobs import JobState, ObservedJob
from scheduler.priority.groups import group_name, group_of, is_whole

JOB = ObservedJob(
    id="7", name="part1", user="cy", account="alpha", state=JobState.PENDING, partitions=("x",), submit=1
)


def test_a_job_stands_alone_unless_it_says_otherwise() -> None:
    assert group_of(JOB) == ""
    assert group_of(replace(JOB, comment="group of mine, subgroup=9")) == ""


def test_tasks_of_an_array_belong_together() -> None:
    assert group_of(replace(JOB, id="41_3", array_job_id="41")) == "41"


def test_jobs_that_say_so_belong_together_and_that_comes_before_the_array() -> None:
    first = replace(JOB, comment="seed=3 group=train7")
    second = replace(JOB, id="41_3", array_job_id="41", name="other", comment="group=train7;partial=no")
    assert group_of(first) == group_of(second) != ""
    assert group_name(group_of(first)) == "train7"
    assert group_name("41") == "41"


@pytest.mark.parametrize("other", [{"user": "ann"}, {"account": "beta"}, {"comment": "group=train8"}])
def test_only_of_one_user_and_account(other: dict[str, Any]) -> None:
    said = replace(JOB, comment="group=train7")
    assert group_of(said) != group_of(replace(said, **other))


@pytest.mark.parametrize("comment", ["group=a group=b", "group=a/b", "group=", "Group=a"])
def test_a_word_that_is_not_understood_makes_no_group(comment: str) -> None:
    assert group_of(replace(JOB, comment=comment)) == ""


def test_all_or_none_is_said_in_one_way() -> None:
    assert is_whole(replace(JOB, comment="group=train7 partial=no"))
    assert not any(
        is_whole(replace(JOB, comment=text)) for text in ("", "partial=yes", "Partial=no", "partial")
    )
