"""What docs/reasons.md and docs/contracts.md promise is what the code does."""

import json
import re
from pathlib import Path

import pytest

from scheduler.contracts import plan as plan_contract
from scheduler.contracts import requests, rules, snapshot
from scheduler.contracts.plan import encode_plan
from scheduler.contracts.snapshot import decode_snapshot
from scheduler.model.reasons import SENTENCES, Reason
from scheduler.preemption.planner import plan

DOCS = Path(__file__).parents[2] / "docs"
REASONS = (DOCS / "reasons.md").read_text(encoding="utf-8")
CONTRACTS = (DOCS / "contracts.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("reason", list(Reason))
def test_every_reason_is_listed_with_its_sentence(reason: Reason) -> None:
    rows = [line for line in REASONS.splitlines() if line.startswith(f"| `{reason.value}` |")]
    assert len(rows) == 1
    assert rows[0].endswith(f"| {SENTENCES[reason]} |")


def test_no_reason_is_listed_that_does_not_exist() -> None:
    listed = set(re.findall(r"^\| `(\w+)` \|", REASONS, flags=re.MULTILINE))
    assert listed == {reason.value for reason in Reason}


def test_the_example_snapshot_can_be_planned_and_gives_the_example_plan() -> None:
    state, made = (
        json.loads(block) for block in re.findall(r"```json\n(.*?)```", CONTRACTS, flags=re.DOTALL)[:2]
    )
    (expected,) = made["decisions"]
    (decision,) = encode_plan(plan(decode_snapshot(state)))["decisions"]
    beginning = expected.pop("explain").rstrip("…")
    assert decision.pop("explain").startswith(beginning)
    assert decision == expected


KNOWN = {
    "partition": (*rules._KEYS, *rules._BALANCE),
    "nodes": snapshot._NODE_KEYS,
    "jobs": (*snapshot._JOB_KEYS, *snapshot._NUMBERS, "per_node"),
    "request": requests._KEYS,
    "plan": re.findall(r'"([a-z_]+)"', Path(plan_contract.__file__).read_text(encoding="utf-8")),
}


@pytest.mark.parametrize(("part", "keys"), KNOWN.items())
def test_every_key_of_a_snapshot_and_of_a_plan_is_named(part: str, keys: tuple[str, ...]) -> None:
    planning = CONTRACTS.partition("## A workload in")[0]
    assert len(keys) > 8
    assert [key for key in keys if not re.search(rf'[`"]{key}[`":]', planning)] == [], part
