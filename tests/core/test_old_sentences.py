"""Sentences that are kept in English, said again in the reader's language."""

import re
import time
from collections.abc import Iterator

import pytest
from django.utils import translation
from hypothesis import given, settings

from console.core.old_sentences import LINES, LISTS, NUMBERS, PLACE, TIMES
from console.core.translate import resaid, resay, resay_marked
from scheduler.model.reasons import SENTENCES, Reason
from scheduler.model.snapshot import Snapshot
from scheduler.preemption.planner import plan
from tests.scheduler.strategies import snapshots

ENGLISH = re.compile(r"\b[a-z]{2,}(?: [a-z]{2,}){2,}\b")
"""Three words in a row."""
COMMANDS = re.compile(r"(?:manage\.py|celery|sacctmgr)[\w <>=-]+")
"""They are the same in every language."""


@pytest.fixture(autouse=True)
def chinese() -> Iterator[None]:
    with translation.override("zh-hans"):
        yield


NAMES = ("n1, n2 and n3", "n1、n2 和 n3")
SAMPLES = {
    **dict.fromkeys(NUMBERS, ("7", "7")),
    **dict.fromkeys(TIMES, ("2 h 14 min", "2 小时 14 分钟")),
    **dict.fromkeys(LISTS, NAMES),
    "losses": (
        "7 (e, P1) stops and 8 (f, P2) gives up n1 and n2 (4 cpu)",
        "和 8（f，P2）让出 n1 和 n2（4 cpu）",
    ),
}
"""What stands in a place, and what becomes of it; in all other places a name, which stays."""


def test_every_phrase_is_said_in_chinese_with_all_that_it_holds() -> None:
    for phrase in LINES["zh-hans"]:
        said = resaid(PLACE.sub(lambda place: SAMPLES.get(place[1], ("X1", ""))[0], phrase))
        assert said is not None and not ENGLISH.search(COMMANDS.sub("", said)), (phrase, said)
        for name in PLACE.findall(phrase):
            assert SAMPLES.get(name, ("", "X1"))[1] in said, (phrase, said)


def test_every_reason_has_its_sentence_in_chinese() -> None:
    for reason in Reason:
        said = translation.gettext(SENTENCES[reason])
        assert said and said != SENTENCES[reason] and not ENGLISH.search(said), reason


@settings(max_examples=60, deadline=None, database=None)
@given(snapshots())
def test_whatever_the_planner_says_is_understood(snapshot: Snapshot) -> None:
    with translation.override("zh-hans"):
        for decision in plan(snapshot).decisions:
            said = resaid(decision.explain)
            assert said is not None, decision.explain
            assert not ENGLISH.search(said), (decision.explain, said)


def test_what_a_whole_explanation_becomes() -> None:
    kept = (
        "102 (bob, P1) needs 6 cpu on one node; n1 and n2 have 2 cpu free together. Stopping 101 (ann, P2, ran 2 h 14 "
        "min), 103 (cy, P3, task L1, ran 3 s) and 9 more makes room on n1. 102 counts as unconfigured: bob may have 1 "
        "P0 job running at a time and has 1."
    )
    assert resaid(kept) == (
        "102（bob，P1）需要 1 个节点 6 cpu；n1 和 n2 合计空闲 2 cpu。停止 101（ann，P2，已运行 2 小时 14 分钟）、"
        "103（cy，P3，任务 L1，已运行 3 秒）和另外 9 个可在 n1 上腾出资源。"
        "102 视为未配置：bob 同时只能运行 1 个 P0 作业，已有 1 个。"
    )
    with translation.override("en"):
        assert resaid(kept) == kept


def test_a_finding_of_the_doctor_is_told_again_with_what_hinders_it() -> None:
    for kept, said in {
        "In shadow: debug, x and y.": "影子模式：debug、x 和 y。",
        "It cannot be asked: scontrol failed: Unable to contact slurm controller.": (
            "无法查询：scontrol 失败：Unable to contact slurm controller。"
        ),
        "slurmctld does not let ann(1001) (SlurmUser is slurm(64030)) change other people's jobs: Invalid user id": (
            "slurmctld 不允许 ann(1001)（SlurmUser 为 slurm(64030)）更改他人的作业：Invalid user id"
        ),
        "The audit log is not whole: Row 7 was changed: its hash does not fit what it says.": (
            "审计日志不完整：第 7 条被改动过：其哈希与内容不符。"
        ),
    }.items():
        assert resaid(kept) == said


def test_what_nobody_knows_stays_and_says_that_it_is_english() -> None:
    assert resaid("Something that no version of Giveway ever said.") is None
    assert resay("slurm_load_jobs error: <b>") == "slurm_load_jobs error: <b>"
    assert (
        resay_marked("slurm_load_jobs error: <b>")
        == '<span lang="en">slurm_load_jobs error: &lt;b&gt;</span>'
    )
    assert resay_marked("") == ""


@pytest.mark.parametrize(
    "hostile",
    [
        "%(job)s %s %d {0} {actor} no longer runs.",
        "x. " * 3000,
        ("it waits for another job (" * 300) + "no longer runs.",
        ", ".join(["n1 (bob, P1)"] * 300) + " no longer runs.",
        "1 needs 2; 3. Stopping " + "a and " * 500 + "b makes room on c.",
    ],
)
def test_hostile_text_is_neither_slow_nor_a_format(hostile: str) -> None:
    begun = time.thread_time()  # of this thread alone, whatever else the machine does
    said = resay(hostile)
    assert time.thread_time() - begun < 1
    assert said == hostile or "%(job)s %s %d {0} {actor}" in said or "makes room" not in said
