"""Which ended jobs are put back: squeue's words for it differ from release to release."""

import re
from collections.abc import Callable

import pytest

from scheduler.adapters.slurm.commands import CommandAnswer
from scheduler.adapters.slurm.recover import signal_of
from scheduler.adapters.slurm.write import Writer
from scheduler.model.actions import REQUEUED, Action, ActionKind, ActionOutcome, OutcomeKind
from scheduler.model.jobs import RunKey
from tests.adapters.slurm.replay import RECORDED_MARK, Scripted
from tests.adapters.slurm.test_writing import START, STARTED, UNHEARD_OF, changes, table

Endings = Callable[[int], str]
"""What squeue prints of how the jobs ended, the first time and later."""

# Release: a job that `kill -USR1` has ended, one that has said `exit 3`, one with a memory dump by USR1.
TOLD = {
    "22.05.8": ("10|JobLaunchFailure", "768|NonZeroExitCode", "138|JobLaunchFailure"),
    "24.11.5": ("0:10|RaisedSignal:10(User defined signal 1)", "3:0|NonZeroExitCode", "0:10|Core|Dump"),
    "26.05.5": ("0:10|RaisedSignal:10(User defined signal 1)", "3:0|NonZeroExitCode", "0:10|(null)"),
}


def ending(job_id: str, told: str, state: str = "FAILED", restarts: int = 0, started: str = STARTED) -> str:
    return f"{job_id}|{job_id}|N/A|{state}|{started}|{restarts}|{told}{RECORDED_MARK};\n"


def slurm(*jobs: str, endings: Endings) -> Scripted:
    """These jobs have ended; `endings`: the rows about that, by how often they were asked for."""
    asked: list[str] = []

    def reply(call: tuple[str, ...]) -> CommandAnswer:
        wish = next((argument for argument in call if "exit_code" in argument), "")
        if wish:
            asked.append(wish)
            found = re.search(r",Reason:(\w+);$", wish)
            assert found is not None
            return CommandAnswer(endings(len(asked)).replace(RECORDED_MARK, found[1]), "", 0)
        if call[0] == "squeue":
            return table(*((job, "FAILED", 0, 1) for job in jobs))
        return UNHEARD_OF if "show" in call else CommandAnswer("", "", 0)

    return Scripted(reply=reply)


def recover(*ids: str, value: str = "USR1") -> list[Action]:
    return [Action(ActionKind.RECOVER, RunKey(job_id, START, 0), value) for job_id in ids]


def one(runner: Scripted, value: str = "USR1") -> ActionOutcome:
    [outcome] = Writer(runner).apply(recover("7", value=value))
    return outcome


@pytest.mark.parametrize("version", TOLD)
@pytest.mark.parametrize("value", ["USR1", "10"])
def test_a_job_that_the_signal_has_ended_is_put_back(version: str, value: str) -> None:
    runner = slurm("7", endings=lambda _time: ending("7", TOLD[version][0]))

    assert one(runner, value).kind is OutcomeKind.DONE
    assert changes(runner) == [("scontrol", "requeuehold", "7")]


@pytest.mark.parametrize("version", TOLD)
def test_a_job_that_dumped_its_memory_on_the_signal_is_put_back(version: str) -> None:
    runner = slurm("7", endings=lambda _time: ending("7", TOLD[version][2]))

    assert one(runner).kind is OutcomeKind.DONE


@pytest.mark.parametrize("version", TOLD)
def test_a_job_that_ended_by_itself_is_left_in_peace(version: str) -> None:
    runner = slurm("7", endings=lambda _time: ending("7", TOLD[version][1]))

    outcome = one(runner)

    assert outcome.kind is OutcomeKind.GONE
    assert outcome.detail.startswith("the job ended, but not by the signal (FAILED, exit code ")
    assert changes(runner) == []


@pytest.mark.parametrize(
    ("row", "words"),
    [
        (ending("7", "0:15|None", "CANCELLED"), "not by the signal (CANCELLED, exit code 0:15)"),
        (ending("7", "0:12|RaisedSignal:12(User defined signal 2)"), "not by the signal (FAILED"),
        (ending("7", "0:10|x", restarts=1), "that run is over"),
        (ending("7", "0:10|x", started="2026-11-20T18:00:00"), "that run is over"),
    ],
)
def test_a_job_that_ended_otherwise_or_in_another_run_is_left_in_peace(row: str, words: str) -> None:
    outcome = one(slurm("7", endings=lambda _time: row))

    assert outcome.kind is OutcomeKind.GONE
    assert words in outcome.detail


@pytest.mark.parametrize(
    "row",
    [
        ending("7", "killed by 10|None"),
        ending("7", "|None"),
        ending("7", "0:10:1|None"),
        ending("7", "-10|None"),
        ending("7", f"{'9' * 400}|None"),
        ending("7", "0:10|None", state="ENDED_SOMEHOW"),
        ending("7", "0:10|None", state="PENDING"),
        ending("7", "0:10|None", started="99999-01-01T00:00:00"),
        ending("7", "0:10|None").replace("|N/A", ""),
        f"7{RECORDED_MARK};\n",
        f"{RECORDED_MARK};\n",
        "7|7|N/A|FAILED|",
        "",
        ending("7", "3:0|None") + ending("7", "0:10|None"),
    ],
)
def test_an_end_that_is_not_understood_is_looked_at_again(row: str) -> None:
    runner = slurm("7", endings=lambda _time: row)
    reply = runner.reply
    runner.reply = lambda call: CommandAnswer("JobId=7", "", 0) if "show" in call else reply(call)

    outcome = one(runner)

    assert outcome.kind is OutcomeKind.UNKNOWN
    assert outcome.detail
    assert changes(runner) == []


def test_the_reason_tells_the_signal_where_the_exit_code_does_not() -> None:
    assert signal_of("signal 10", "RaisedSignal:10(User defined signal 1)") == 10
    with pytest.raises(ValueError, match="exit code 'signal 10' is not understood"):
        signal_of("signal 10", "NonZeroExitCode")


def test_one_job_that_is_not_understood_hinders_no_other() -> None:
    rows = ending("7", "0:10|x") + ending("8", "what|x") + ending("9", "3:0|x")
    runner = slurm("7", "8", "9", endings=lambda _time: rows)

    outcomes = Writer(runner).apply(recover("7", "8", "9"))

    assert [outcome.kind for outcome in outcomes] == [OutcomeKind.DONE, OutcomeKind.UNKNOWN, OutcomeKind.GONE]
    assert changes(runner) == [("scontrol", "requeuehold", "7")]


def test_a_job_is_given_up_only_when_two_looks_agree() -> None:
    told = {1: "3:0|x", 2: "0:10|x"}
    runner = slurm("7", endings=lambda time: ending("7", told[time]))

    assert one(runner).kind is OutcomeKind.UNKNOWN


def test_a_job_that_slurmctld_has_forgotten_is_gone_and_the_words_say_so() -> None:
    outcome = one(slurm(endings=lambda _time: ""))

    assert outcome.kind is OutcomeKind.GONE
    assert "knows the job no more" in outcome.detail


# Release: how a job is told whose requeue slurmctld has forgotten, of a plain script, of one that did not heed SIGTERM,
# of one that then said `exit 3`, and of one that then ended well.
FORGOTTEN = {
    "22.05.8": (
        ("15|JobLaunchFailure", "FAILED"),
        ("9|JobLaunchFailure", "FAILED"),
        ("768|NonZeroExitCode", "FAILED"),
        ("0|None", "COMPLETED"),
    ),
    "26.05.5": (
        ("0:15|RaisedSignal:15(Terminated)", "FAILED"),
        ("0:9|RaisedSignal:9(Killed)", "FAILED"),
        ("3:0|NonZeroExitCode", "FAILED"),
        ("0:0|None", "COMPLETED"),
    ),
}


@pytest.mark.parametrize(("told", "state"), [case for cases in FORGOTTEN.values() for case in cases], ids=str)
def test_a_job_whose_requeue_slurmctld_forgot_is_put_back_however_it_ended(told: str, state: str) -> None:
    runner = slurm("7", endings=lambda _time: ending("7", told, state))

    assert one(runner, REQUEUED).kind is OutcomeKind.DONE
    assert changes(runner) == [("scontrol", "requeuehold", "7")]


@pytest.mark.parametrize(
    "row",
    [
        ending("7", "0:15|None", "CANCELLED"),
        ending("7", "0:15|None", "TIMEOUT"),
        ending("7", "0:15|RaisedSignal:15(Terminated)", restarts=1),
    ],
)
def test_nor_is_one_that_somebody_cancelled_or_whose_requeue_was_not_forgotten(row: str) -> None:
    runner = slurm("7", endings=lambda _time: row)

    assert one(runner, REQUEUED).kind is OutcomeKind.GONE
    assert changes(runner) == []
