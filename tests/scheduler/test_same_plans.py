"""The plans of random partitions are what they were when they were written down (`vectors/plans.json`).

Whoever makes the planner faster, or clearer, changes no plan. Whoever changes plans on purpose writes them down anew,
`python -m tests.scheduler.test_same_plans`, and says in the commit what has become other and why.
"""

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from scheduler.model.plan import PlanningResult
from scheduler.preemption.planner import plan
from tests.scheduler.random_partitions import random_partition

WRITTEN = Path(__file__).parents[1] / "vectors" / "plans.json"
NUMBERS = (*range(300), 1207, 1783, 2831, 2887, 4531, 5044)
"""In 1207, 2831, 4531 and 5044 a line of bounds that was out of date when it was made (`bound_line`) led to other
plans; in 1783 and 2887 somebody exchanges a node."""
EACH = 38


def digest(made: PlanningResult) -> str:
    """Of all that a plan decides, and whom it leaves alone why; not of its words, which may be said better."""
    told = [
        [
            decision.job,
            decision.action.value,
            decision.reason.value,
            decision.nodes,
            [[v.job, v.how.value, v.units, v.nodes, v.gets, v.on] for v in decision.victims],
            decision.at,
            decision.units,
            {name: dict(amounts) for name, amounts in decision.placement.items()},
            [[passed.job, passed.reason.value] for passed in decision.passed_over],
        ]
        for decision in made.decisions
    ]
    return hashlib.sha256(json.dumps(told, sort_keys=True).encode()).hexdigest()[:16]


def digests(numbers: Sequence[int]) -> dict[str, str]:
    """Of the plans of the partitions with these numbers."""
    return {str(number): digest(plan(random_partition(number))) for number in numbers}


@pytest.mark.parametrize("first", range(0, len(NUMBERS), EACH))
def test_plans_are_what_they_were(first: int) -> None:
    written = json.loads(WRITTEN.read_text(encoding="utf-8"))
    now = digests(NUMBERS[first : first + EACH])
    assert now == {number: written[number] for number in now}


def test_the_partitions_need_every_method() -> None:
    """Else the comparison would say little."""
    made = [decision for number in NUMBERS for decision in plan(random_partition(number)).decisions]
    kinds = {decision.action.value for decision in made} | {v.how.value for d in made for v in d.victims}
    assert kinds >= {
        "start",
        "shrink",
        "swap",
        "preempt",
        "wait",
        "reserve",
        "queue",
        "grow",
        "units",
        "nodes",
    }


if __name__ == "__main__":
    WRITTEN.write_text(json.dumps(digests(NUMBERS), indent=0) + "\n", encoding="utf-8")
