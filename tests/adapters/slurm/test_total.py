"""Acting is total: whatever Slurm answers to whichever call, every action has an outcome, and nothing is raised."""

import contextlib
import re
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scheduler.adapters.slurm import SlurmCluster, accounting, checkup
from scheduler.adapters.slurm.commands import CommandAnswer
from scheduler.adapters.slurm.errors import SlurmTimeoutError, SlurmUnavailableError
from scheduler.adapters.slurm.write import Writer
from scheduler.model.actions import Action, ActionKind, ActionOutcome, OutcomeKind
from scheduler.model.jobs import RunKey
from scheduler.ports import ClusterUnavailableError
from tests.adapters.slurm.replay import RECORDED_MARK, VERSIONS, Scripted, scene
from tests.adapters.slurm.test_recovering import ending
from tests.adapters.slurm.test_writing import START, UNHEARD_OF, changes, table

IDS = ("1", "2", "41_2")
HUGE = "9" * 400
MESSAGES = (
    "", "Invalid job id specified for job 1", "Job/step already completing or completed for job 41_2",
    "Only batch jobs are accepted or processed for job 2", "41_2: Job is pending execution",
    "slurm_load_jobs error: Unable to contact slurm controller (connect failure)", "for job for job 1", "\x00\ufffd",
    "Kill job error on job id 2: Invalid job id specified", "Meldung, die niemand kennt", "x" * 100_000,
)  # fmt: skip
STATES = (
    "RUNNING",
    "PENDING",
    "COMPLETING",
    "FAILED",
    "COMPLETED",
    "EXPEDITING",
    "NEVER_HEARD",
    "",
    "(null)",
)
SCRAPS = (
    "",
    "|",
    "\x00",
    "\ufffd" * 40,
    HUGE,
    "99999-12-31T23:59:59",
    "0:10",
    "10",
    "-1",
    "n[1-999999999999]",
    "(null)",
)

garbage = st.one_of(st.sampled_from(SCRAPS), st.text(max_size=60))
jobs = st.tuples(
    st.sampled_from((*IDS, "3", "0", "")),
    st.sampled_from(STATES),
    st.sampled_from((0, 1, int(HUGE))),
    st.sampled_from((0, 1, 4_294_967_294, int(HUGE))),
)


@st.composite
def spoilt(draw: st.DrawFn) -> str:
    """squeue's table or its table of endings, with something wrong with it or not."""
    if draw(st.booleans()):
        text = table(*draw(st.lists(jobs, max_size=4))).out
    else:
        told = st.sampled_from(("0:10|x", "10|x", "3:0|x", f"{HUGE}|x", "|"))
        rows = st.builds(ending, st.sampled_from(IDS), told, st.sampled_from(STATES))
        text = "".join(draw(st.lists(rows, max_size=4)))
    at = draw(st.integers(0, len(text)))
    match draw(st.sampled_from(("as it is", "cut", "put in", "swapped", "taken out"))):
        case "cut":
            return text[:at]
        case "put in":
            return text[:at] + draw(garbage) + text[at:]
        case "swapped":
            fields = text.split("|")
            one, other = (draw(st.integers(0, len(fields) - 1)) for _ in range(2))
            fields[one], fields[other] = fields[other], fields[one]
            return "|".join(fields)
        case "taken out":
            return text[:at] + text[at + draw(st.integers(1, 30)) :]
    return text


answers = st.one_of(
    st.builds(
        CommandAnswer, st.one_of(spoilt(), garbage), st.sampled_from(MESSAGES), st.sampled_from((0, 0, 0, 1, 255, -9))
    ),
    st.sampled_from((SlurmTimeoutError("no answer"), SlurmUnavailableError("not there"))),
)  # fmt: skip
actions = st.builds(
    Action,
    st.sampled_from(ActionKind),
    st.builds(
        RunKey, st.sampled_from((*IDS, "1;2", "")), st.sampled_from((START, 0)), st.sampled_from((0, 1))
    ),
    st.sampled_from(("", "USR1", "10", "4294903293", HUGE, "--all", "NumNodes=2")),
    st.sampled_from(("", "made room", "NumNodes=2 \x00 NodeList=n1")),
)


class Garbage(Scripted):
    """Answers each call with the next of some answers, in turn."""

    @classmethod
    def of(cls, told: list[CommandAnswer | SlurmUnavailableError]) -> "Garbage":
        runner = cls()
        runner.reply = lambda call: _in_turn(told, len(runner.calls), call)
        return runner


def _in_turn(
    told: list[CommandAnswer | SlurmUnavailableError], number: int, call: tuple[str, ...]
) -> CommandAnswer:
    answer = told[number % len(told)]
    if isinstance(answer, SlurmUnavailableError):
        raise answer
    wish = next((argument for argument in call if argument.startswith("--Format=")), "")
    mark = re.search(r"[,:](g\w{10});$", wish)
    return CommandAnswer(answer.out.replace(RECORDED_MARK, mark[1] if mark else ""), answer.err, answer.code)


@given(st.lists(actions, max_size=8), st.lists(answers, min_size=1, max_size=8))
def test_every_action_has_an_outcome_whatever_slurm_answers(
    wanted: list[Action], told: list[CommandAnswer | SlurmUnavailableError]
) -> None:
    outcomes = SlurmCluster(runner=Garbage.of(told)).apply(wanted)

    assert len(outcomes) == len(wanted)
    for outcome in outcomes:
        assert isinstance(outcome, ActionOutcome)
        assert len(outcome.detail) <= 200
        assert outcome.detail.isprintable()
        assert outcome.detail or outcome.kind is not OutcomeKind.UNKNOWN


@given(st.lists(answers, min_size=1, max_size=6))
def test_looking_raises_nothing_but_that_the_cluster_cannot_be_looked_at(
    told: list[CommandAnswer | SlurmUnavailableError],
) -> None:
    for look in ("describe", "glance", "observe"):
        with contextlib.suppress(ClusterUnavailableError):
            getattr(SlurmCluster(runner=Garbage.of(told)), look)()
    assert checkup.look(runner=Garbage.of(told)) is not None
    assert accounting.look(runner=Garbage.of(told)) is not None


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("look", [checkup.look, accounting.look])
@given(st.sampled_from(SCRAPS), st.integers(0, 10_000))
def test_a_spoilt_configuration_is_a_fault_in_words(
    version: str, look: Callable[..., object], scrap: str, at: int
) -> None:
    text = scene(version, "busy").text("config")
    runner = Scripted(reply=lambda _call: CommandAnswer(text[:at] + scrap + text[at + len(scrap) :], "", 0))

    assert look(runner=runner) is not None


def test_an_error_that_nobody_has_foreseen_is_unknown_and_the_next_group_is_tried() -> None:
    def reply(call: tuple[str, ...]) -> CommandAnswer:
        if "requeuehold" in call:
            raise RecursionError("too deep")
        return table(("1", "RUNNING", 0, 1), ("2", "PENDING", 0, 1)) if call[0] == "squeue" else UNHEARD_OF

    runner = Scripted(reply=reply)
    outcomes = Writer(runner).apply(
        [
            Action(ActionKind.REQUEUE_HOLD, RunKey("1", START)),
            Action(ActionKind.PRIORITISE, RunKey("2", 0), "77"),
        ]
    )

    assert [outcome.kind for outcome in outcomes] == [OutcomeKind.UNKNOWN, OutcomeKind.GONE]
    assert outcomes[0].detail.startswith("Slurm's answer is not understood (RecursionError at test_total.py:")


def test_an_error_that_nobody_has_foreseen_while_looking_says_where() -> None:
    def reply(_call: tuple[str, ...]) -> CommandAnswer:
        raise OverflowError("date value out of range")

    with pytest.raises(ClusterUnavailableError, match=r"OverflowError at test_total.py:\d+: date value"):
        SlurmCluster(runner=Scripted(reply=reply)).observe()


def test_one_jobs_odd_row_is_that_jobs_outcome_only() -> None:
    told = table(("1", "RUNNING", 0, 1), ("2", "RUNNING", 0, 1), ("41_2", "RUNNING", 0, 1)).out
    first, second, third = told.splitlines(keepends=True)
    spoilt = first + second.replace("1:00:00", "soon") + third
    runner = Scripted(reply=lambda call: CommandAnswer(spoilt if call[0] == "squeue" else "", "", 0))

    outcomes = Writer(runner).apply([Action(ActionKind.REQUEUE_HOLD, RunKey(job, START)) for job in IDS])

    assert [outcome.kind for outcome in outcomes] == [OutcomeKind.DONE, OutcomeKind.UNKNOWN, OutcomeKind.DONE]
    assert outcomes[1].detail == "job 2 does not decode: 'soon' is no time limit"
    assert changes(runner) == [("scontrol", "requeuehold", "1,41_2")]


@pytest.mark.parametrize(
    "missing",
    [
        CommandAnswer("JobId=2 JobName=x", "", 0),
        CommandAnswer("", "slurm_load_jobs error: Unable to contact slurm controller", 1),
        CommandAnswer("", "", 1),
    ],
)
def test_a_job_whose_row_is_missing_is_not_taken_for_gone(missing: CommandAnswer) -> None:
    shown = table(("1", "RUNNING", 0, 1))
    runner = Scripted(
        reply=lambda call: (
            shown if call[0] == "squeue" else missing if "show" in call else CommandAnswer("", "", 0)
        )
    )

    outcomes = Writer(runner).apply([Action(ActionKind.CANCEL, RunKey(job, START)) for job in ("1", "2")])

    assert [outcome.kind for outcome in outcomes] == [OutcomeKind.DONE, OutcomeKind.UNKNOWN]


def test_a_task_that_is_over_while_its_array_is_not_is_gone() -> None:
    said = CommandAnswer("Job 41_2 not found\n", "", 1)
    runner = Scripted(reply=lambda call: table() if call[0] == "squeue" else said)

    [outcome] = Writer(runner).apply([Action(ActionKind.CANCEL, RunKey("41_2", START))])

    assert outcome.kind is OutcomeKind.GONE


def test_a_row_without_a_name_leaves_open_who_was_not_found() -> None:
    told = table(("1", "RUNNING", 0, 1)).out + f"|||{RECORDED_MARK};\n"
    runner = Scripted(reply=lambda call: CommandAnswer(told, "", 0) if call[0] == "squeue" else UNHEARD_OF)

    outcomes = Writer(runner).apply([Action(ActionKind.CANCEL, RunKey(job, START)) for job in ("1", "2")])

    assert outcomes[1].kind is OutcomeKind.UNKNOWN


def test_a_begin_time_that_was_misread_keeps_nobody_from_starting() -> None:
    told = table(("1", "PENDING", 1, 0)).out.replace("2026-11-20T17:50:24", "2926-11-20T17:50:24")
    runner = Scripted(reply=lambda call: CommandAnswer(told if call[0] == "squeue" else "", "", 0))

    [outcome] = Writer(runner, now=lambda: START).apply([Action(ActionKind.RELEASE, RunKey("1", 0))])

    assert outcome.kind is OutcomeKind.DONE
    assert changes(runner)[0] == ("scontrol", "update", "JobId=1", "StartTime=2026-11-20T17:52:26")
