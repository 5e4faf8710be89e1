"""The worked examples of docs/methods: each snapshot gives the plan that stands behind it, to the letter."""

import json
import re
from pathlib import Path

import pytest

from scheduler.contracts.plan import encode_plan
from scheduler.contracts.snapshot import decode_snapshot
from scheduler.preemption.planner import plan

METHODS = Path(__file__).parents[2] / "docs" / "methods"


@pytest.mark.parametrize(
    ("page", "examples"), [("units", 1), ("elastic", 2), ("reservation", 1), ("compute-power", 1)]
)
def test_every_example_gives_the_plan_behind_it(page: str, examples: int) -> None:
    text = (METHODS / f"{page}.md").read_text(encoding="utf-8")
    blocks = [json.loads(block) for block in re.findall(r"```json\n(.*?)```", text, flags=re.DOTALL)]
    assert len(blocks) == 2 * examples
    for snapshot, expected in zip(blocks[::2], blocks[1::2], strict=True):
        assert encode_plan(plan(decode_snapshot(snapshot))) == expected


def test_the_units_page_tells_the_other_way_of_giving_back() -> None:
    text = (METHODS / "units.md").read_text(encoding="utf-8")
    snapshot = json.loads(re.findall(r"```json\n(.*?)```", text, flags=re.DOTALL)[0])
    snapshot["partition"]["give_back"] = "whole"
    (decision,) = encode_plan(plan(decode_snapshot(snapshot)))["decisions"]
    assert [(victim["job"], victim["units"]) for victim in decision["victims"]] == [("B", 10)]
