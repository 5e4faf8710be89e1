"""What is wrong with a policy or a priority file is said in the reader's language, wherever it is read."""

import re
from collections.abc import Callable, Iterator
from typing import Any

from django.utils import translation

from console.core.translate import resaid
from scheduler.contracts.config import decode_config
from scheduler.contracts.errors import InputError
from scheduler.contracts.policy import decode_policy, encode_policy

CHINESE = re.compile(r"[\u4e00-\u9fff]")
POLICY = {"name": "x", "mode": "task", "levels": [{"name": "P0", "min_score": 10}, {"name": "P1"}]}
PROJECT = {"code": "a", "name": "A", "size": 1, "grade": 1, "urgency": 1}
FILE = {"schema": "giveway.config/1", "cluster": "dev", "projects": [], "partitions": []}
FURTHER = ("urgency_by", "deadline", "slurm_account", "managers", "members", "tasks", "nonsense")
WRONG: list[Any] = [
    None, True, "", "  ", "x" * 5000, -1, 0, 10**12, 1.5, "2026-13-45", "nonsense", [], {}, [{}], [[5]], [[0, 0]],
    ["", None, -1], ["["], {"nonsense": 1, "P0": []}, {"P0": -1}, {"P9": 1}, {"P0": "x"},
    [{"name": "", "pattern": "[", "level": -1, "nonsense": 1}], [{"name": "P0"}, {"name": "P0"}],
    [{"name": "P0", "min_score": 1}, {"name": "P1", "min_score": 5}], [{"pattern": "a"}],
    [{"pattern": "a*", "level": "P0"}], [{"pattern": "a", "importance": 1, "level": "P9"}],
    [{"pattern": "a", "importance": 1, "elastic_min": 3, "elastic_wish": 1}],
    [{"pattern": "a", "importance": 1, "elastic_wish": 1}],
]  # fmt: skip


def faults(read: Callable[[Any], object], good: dict[str, Any], keys: list[str]) -> Iterator[tuple[str, str]]:
    """What is said of each key that is wrong in each way."""
    for key in keys:
        for wrong in WRONG:
            try:
                read({**good, key: wrong})
            except InputError as error:
                yield error.message, key


def test_every_fault_of_a_policy_or_a_priority_file_is_said_in_chinese() -> None:
    keys = [*encode_policy(decode_policy(POLICY)), "nonsense"]
    found = list(faults(decode_policy, POLICY, keys))
    found += faults(
        lambda entry: decode_config({**FILE, "projects": [entry]}, set()), PROJECT, [*PROJECT, *FURTHER]
    )
    found += faults(lambda file: decode_config(file, set()), FILE, list(FILE))
    assert len(found) > 500
    with translation.override("zh-hans"):
        english = {said: key for said, key in found if not CHINESE.search(resaid(said) or "")}
    assert not english
