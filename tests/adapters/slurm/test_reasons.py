"""The code of a waiting job's reason, asked for where Slurm says a text instead."""

import json
from typing import Any

import pytest

from scheduler.adapters.slurm.commands import CommandAnswer
from scheduler.adapters.slurm.errors import SlurmTimeoutError
from scheduler.adapters.slurm.read import Reader
from scheduler.adapters.slurm.reasons import AT_ONCE, BELIEVED_S, Codes, codes, is_text
from tests.adapters.slurm.replay import VERSIONS, Replay, Scripted, scene
from tests.adapters.slurm.test_reading import by_name


@pytest.mark.parametrize(
    ("reason", "text"),
    [
        ("Resources", False),
        ("ReqNodeNotAvail, UnavailableNodes:n1", False),
        ("ReqNodeNotAvail,_UnavailableNodes:n[1-2]", False),
        ("RaisedSignal:10(User defined signal 1)", False),
        ("", False),
        # So common, and its code so well known, that it is not asked for.
        (
            "Nodes required for job are DOWN, DRAINED or reserved for jobs in higher priority partitions",
            False,
        ),
        ("No suitable topology unit found", True),
        ("No_suitable_topology_unit_found", True),
    ],
)
def test_which_reasons_are_texts(reason: str, *, text: bool) -> None:
    assert is_text(reason) is text


def told(*jobs: Any) -> Scripted:
    return Scripted(reply=lambda _call: CommandAnswer(json.dumps({"jobs": list(jobs)}), "", 0))


def test_codes_come_by_the_jobs_own_numbers() -> None:
    runner = told({"job_id": 3, "state_reason": "Resources"}, {"job_id": 4, "state_reason": "Priority"})

    assert codes(runner, ["3", "4"]) == {"3": "Resources", "4": "Priority"}
    assert runner.calls == [("squeue", "--json", "--all", "--local", "--jobs=3,4")]


def test_nobody_is_asked_for_nothing_and_only_so_many_at_once() -> None:
    runner = told()

    assert codes(runner, []) == {}
    assert runner.calls == []
    codes(runner, [str(number) for number in range(1, 4 * AT_ONCE)])
    assert runner.calls[0][-1].count(",") == AT_ONCE - 1


@pytest.mark.parametrize(
    "out",
    [
        "",
        "{",
        "[]",
        '{"jobs": 3}',
        '{"jobs": [3, {"job_id": 1}, {"job_id": 1, "state_reason": ["x"]}]}',
        "[" * 9999,
    ],
)
def test_an_answer_that_is_none_tells_no_code(out: str) -> None:
    assert codes(Scripted(reply=lambda _call: CommandAnswer(out, "", 0)), ["1"]) == {}


def test_no_answer_tells_no_code() -> None:
    def late(_call: tuple[str, ...]) -> CommandAnswer:
        raise SlurmTimeoutError("squeue did not answer within 20 s")

    assert codes(Scripted(reply=late), ["1"]) == {}
    assert codes(Scripted(reply=lambda _call: CommandAnswer("", "no such plugin", 1)), ["1"]) == {}


def test_a_code_is_remembered_while_its_text_stays_and_for_a_while() -> None:
    runner = told({"job_id": 3, "state_reason": "Resources"})
    known = Codes(runner)

    for text, now in (("no unit", 0.0), ("no unit", 9.0), ("no room", 10.0), ("no unit", BELIEVED_S)):
        assert known.of({"3": text}, now) == {"3": "Resources"}

    assert len(runner.calls) == 3


def test_those_beyond_the_first_few_have_their_turn_the_next_time() -> None:
    runner = told()
    texts = {str(number): "no unit" for number in range(1, AT_ONCE + 3)}
    known = Codes(runner)

    known.of(texts, 0.0)
    known.of(texts, 1.0)

    assert [call[-1].count(",") + 1 for call in runner.calls] == [AT_ONCE, 2]


@pytest.mark.parametrize("version", VERSIONS)
def test_only_the_jobs_that_wait_for_a_text_are_asked_for_and_once(version: str) -> None:
    replay = Replay(scene=scene(version, "busy"))
    job_id = replay.scene.jobs["begin"]
    words = "No suitable topology unit found"
    replay.edit = lambda name, text: text.replace("BeginTime", words) if name == "squeue" else text
    answer = json.dumps({"jobs": [{"job_id": int(job_id), "state_reason": "Resources"}]})
    replay.failing["reasons"] = CommandAnswer(answer, "", 0)
    reader = Reader(replay)

    job = by_name(replay, reader.observe())["begin"]
    reader.observe()

    assert (job.slurm_reason, job.reason_code) == (words, "Resources")
    assert [call[-1] for call in replay.calls if "--json" in call] == [f"--jobs={job_id}"]
