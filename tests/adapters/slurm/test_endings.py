"""How jobs ended: squeue's answers of three releases, sacct's, and answers that nobody can read.

The lines of squeue are what 22.05.8, 24.11.5 and 26.05.5 print of a script that USR1 ended, one that ended with 3, one
that was cancelled. Those of sacct follow its manual: a row for each run of a requeued job, the latest last.
"""

from dataclasses import dataclass, field

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scheduler.adapters.slurm import endings
from scheduler.adapters.slurm.allowed import check
from scheduler.adapters.slurm.commands import CommandAnswer, CommandRunner
from scheduler.adapters.slurm.errors import SlurmTimeoutError, SlurmUnavailableError
from scheduler.model.endings import Ending, EndKind

START, END = "2026-11-01T10:00:00", "2026-11-01T10:00:07"
BEGAN = 1_793_527_200


@dataclass
class Answers(CommandRunner):
    """Answers by program instead of running it."""

    by: dict[str, CommandAnswer | SlurmUnavailableError] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)

    def run(self, program: str, *arguments: str, timeout_s: float | None = None) -> CommandAnswer:
        check(program, arguments)
        self.asked.append(program)
        answer = self.by[program]
        if isinstance(answer, SlurmUnavailableError):
            raise answer
        return answer


def looked(
    squeue: str, sacct: str | SlurmUnavailableError = "", storage: str = endings.STORAGE, code: int = 0
) -> dict[str, Ending]:
    told = sacct if isinstance(sacct, SlurmUnavailableError) else CommandAnswer(sacct, "", code)
    return endings.look(
        Answers(by={"squeue": CommandAnswer(squeue, "", 0), "sacct": told}), ["1", "2", "3"], storage=storage
    )


@pytest.mark.parametrize(("by_signal", "by_code"), [("10", "768"), ("0:10", "3:0")])
def test_what_squeue_prints_of_ended_jobs(by_signal: str, by_code: str) -> None:
    found = looked(
        f"1|FAILED|{by_signal}|{START}|{END}|\n2|FAILED|{by_code}|{START}|{END}|\n3|CANCELLED|0|{START}|{END}|\n"
    )

    assert found["1"] == Ending(EndKind.FAILED, "FAILED", signal=10, start=BEGAN, end=BEGAN + 7)
    assert (found["2"].exit_code, found["2"].signal) == (3, 0)
    assert found["3"].kind is EndKind.CANCELLED


def test_sacct_is_asked_for_what_slurmctld_has_forgotten_and_its_last_row_counts() -> None:
    found = looked(
        f"1|COMPLETED|0:0|{START}|{END}|\n",
        f"2|REQUEUED|0:0|{START}|{END}\n2|FAILED|0:10|{START}|{END}\n"
        f"2.batch|FAILED|0:10|{START}|{END}\n3|CANCELLED by 0|0:0|Unknown|{END}\n",
    )

    assert found["2"].kind is EndKind.FAILED
    assert (found["3"].kind, found["3"].by, found["3"].start) == (EndKind.CANCELLED, "root", None)


def test_what_slurmdbd_knows_by_half_is_untold_and_asked_again() -> None:
    """It has a short job's last state before its end and its exit code."""
    found = looked(
        "", f"1|FAILED|0:0|{START}|Unknown\n2|COMPLETED|0:0|{START}|{END}\n3|RUNNING|0:0|{START}|Unknown\n"
    )
    assert {job: ending.kind for job, ending in found.items()} == {
        "1": EndKind.UNTOLD, "2": EndKind.COMPLETED, "3": EndKind.ALIVE,
    }  # fmt: skip


def test_without_accounting_nobody_is_asked_for_it() -> None:
    assert looked("", "2|COMPLETED|0:0||\n", storage="accounting_storage/none") == {}


def test_when_slurmdbd_does_not_answer_it_is_untold_not_lost() -> None:
    for found in (looked("", SlurmTimeoutError("sacct did not answer within 20 s")), looked("", "", code=1)):
        assert {ending.kind for ending in found.values()} == {EndKind.UNTOLD}
        assert found.keys() == {"1", "2", "3"}


def test_when_slurmctld_does_not_answer_that_is_said() -> None:
    silent = Answers(
        by={"squeue": CommandAnswer("", "slurm_load_jobs error: Unable to contact slurm controller", 1)}
    )
    with pytest.raises(SlurmUnavailableError):
        endings.look(silent, ["1"], storage="")


def test_an_unknown_state_is_untold() -> None:
    assert looked(f"1|ASCENDED|0:0|{START}|{END}|\n")["1"] == Ending(
        EndKind.UNTOLD, "ASCENDED", start=BEGAN, end=BEGAN + 7
    )


@given(st.text(max_size=200), st.text(max_size=200))
def test_garbage_never_raises(squeue: str, sacct: str) -> None:
    for answer in (squeue, f"1|{squeue}", f"1|FAILED|{squeue}|{sacct}|{START}|"):
        found = looked(answer, f"2|{sacct}\n{sacct}")
        assert found.keys() <= {"1", "2", "3"}
