"""Who has changed what it asks for since room is being made for it: nobody is stopped for room that it cannot take."""

import pytest

from scheduler.model.jobs import ObservedJob
from scheduler.reconcile.still import goes_elsewhere
from tests.builders import observed, one_node


def _waits(**limits: object) -> ObservedJob:
    return observed("7", partitions=("x", "y"), request=one_node(4, **limits))


@pytest.mark.parametrize(
    "limits",
    [{}, {"only_nodes": frozenset({"n1", "n2", "n9"})}, {"not_nodes": frozenset({"n3"})}],
)
def test_who_may_still_run_there_goes_there(limits: dict[str, object]) -> None:
    assert goes_elsewhere(_waits(**limits), "x", ["n1", "n2"]) == ""


@pytest.mark.parametrize(
    "limits", [{"only_nodes": frozenset({"n1"})}, {"not_nodes": frozenset({"n2", "n3"})}]
)
def test_who_names_other_nodes_or_may_not_use_these_does_not(limits: dict[str, object]) -> None:
    assert goes_elsewhere(_waits(**limits), "x", ["n1", "n2"]) == "7 may run on n2 no more."


def test_who_was_moved_to_another_partition_does_not() -> None:
    assert goes_elsewhere(_waits(), "z", ["n1"]) == "7 waits in the partition z no more."
