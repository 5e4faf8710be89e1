"""For whose end others wait, in Slurm's words."""

import pytest

from scheduler.reconcile.waited_for import ends_waited_for, is_waited_for
from tests.builders import observed


@pytest.mark.parametrize(
    ("dependency", "ends"),
    [
        ("afterok:6(unfulfilled)", {"6"}),
        ("afternotok:6(unfulfilled),afterany:41_*(unfulfilled)", {"6", "41_*"}),
        ("afterok:8(fulfilled)?aftercorr:41_2(unfulfilled)", {"8", "41_2"}),
        ("after:6+5(unfulfilled)", set()),
        ("singleton(unfulfilled)", {"ann/job9"}),
        ("afterburstbuffer:6(unfulfilled),expand:7", {"6", "7"}),
        ("", set()),
    ],
)
def test_only_who_waits_for_an_end_counts(dependency: str, ends: set[str]) -> None:
    assert ends_waited_for([observed("9", dependency=dependency)]) == ends


@pytest.mark.parametrize("name", ["41", "41_2", "41_*"])
def test_a_task_is_waited_for_with_its_array(name: str) -> None:
    task = observed("41_2", array_job_id="41")

    assert is_waited_for(task, frozenset({name}))
    assert not is_waited_for(task, frozenset({"41_3", "4", "2"}))
    assert not is_waited_for(observed("2"), frozenset({"41_2", "41_*"}))
