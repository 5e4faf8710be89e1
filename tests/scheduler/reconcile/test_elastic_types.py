"""Workers of an elastic job by its task type; the comment comes first."""

import pytest

from scheduler.model.jobs import Elastic
from scheduler.model.task_types import TaskType
from scheduler.reconcile.snapshot_jobs import elastic_workers
from tests.builders import observed

TYPE = TaskType("train*", elastic_min=2, elastic_wish=4)


@pytest.mark.parametrize(
    ("comment", "kind", "expected"),
    [
        ("", TYPE, Elastic(min_workers=2, wish_workers=4)),
        ("", None, None),
        ("", TaskType("train*", cpus=8), None),
        ("elastic:min=1", TYPE, Elastic(min_workers=1)),
        # Words of ours that are wrong make it rigid, whatever its type says.
        ("elastic:min=x", TYPE, None),
        ("elastic:min=1,how=restart", TYPE, None),
        ("my own words", TYPE, Elastic(min_workers=2, wish_workers=4)),
    ],
)
def test_who_is_elastic(comment: str, kind: TaskType | None, expected: Elastic | None) -> None:
    assert elastic_workers(observed("7_1", comment=comment), None, kind) == expected
