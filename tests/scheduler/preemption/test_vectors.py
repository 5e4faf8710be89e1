"""The vectors of the pages on units and on elastic jobs, as they stand in tests/vectors."""

import json
from pathlib import Path
from typing import Any

import pytest

from scheduler.contracts.plan import encode_plan
from scheduler.contracts.snapshot import decode_snapshot
from scheduler.preemption.planner import plan

VECTORS = Path(__file__).parents[2] / "vectors"
CASES: dict[str, dict[str, Any]] = {
    f"{page}: {case['name']}": case
    for page in ("units", "elastic")
    for case in json.loads((VECTORS / f"{page}.json").read_text(encoding="utf-8"))
}


@pytest.mark.parametrize("title", CASES)
def test_the_plan_is_what_the_vector_expects(title: str) -> None:
    case = CASES[title]
    made = {d["job"]: d for d in encode_plan(plan(decode_snapshot(case["snapshot"])))["decisions"]}
    assert made.keys() == case["expect"].keys()
    for job, expected in case["expect"].items():
        victims = {victim["job"]: victim for victim in made[job].get("victims", [])}
        assert victims.keys() == expected["victims"].keys()
        for victim, wanted in expected["victims"].items():
            assert victims[victim] | wanted == victims[victim], victim
        rest = {key: value for key, value in expected.items() if key != "victims"}
        assert made[job] | rest == made[job]


def test_every_case_is_there() -> None:
    assert len(CASES) == 8
