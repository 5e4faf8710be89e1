"""Finished jobs as sacct tells them; the lines are as 22.05.8 wrote them."""

from collections.abc import Callable

import pytest

from scheduler.adapters.slurm import finished
from scheduler.adapters.slurm.allowed import check
from scheduler.adapters.slurm.commands import CommandAnswer, CommandRunner
from scheduler.adapters.slurm.errors import SlurmUnavailableError
from scheduler.adapters.slurm.finished import FIELDS, decode, look

MARK = "0123456789abcdef"
SINCE, UNTIL = 1795405000, 1795406000
LINE = (
    "4|root|lab|wide|normal|2026-11-23T03:38:59|2026-11-23T03:39:00|2026-11-23T03:39:05"
    "|billing=4,cpu=4,mem=4000M,node=2|1|CANCELLED by 0|canc|sbatch -n4 /home/ann/run-3/canc.sh x"
)


def told(*lines: str) -> str:
    """Lines with sacct's usual bar, as they come with a mark."""
    return "".join(line.replace("|", MARK) + "\n" for line in lines)


def test_a_line_is_a_run_with_what_was_asked_for() -> None:
    (run,) = decode(told(LINE), MARK, SINCE, UNTIL).runs
    assert (run.job_id, run.user, run.account, run.partition, run.qos) == (
        "4", "root", "lab", "wide", "normal",
    )  # fmt: skip
    assert (run.submit, run.start, run.end) == (1795405139, 1795405140, 1795405145)
    assert (run.nodes, run.cpus, run.gpus, run.memory_mb, run.limit_s) == (2, 4, 0, 4000, 60)
    assert (run.state, run.name, run.command) == ("CANCELLED", "canc", "canc.sh")


def test_gpus_arrays_and_jobs_without_a_limit() -> None:
    gpus = LINE.replace("cpu=4", "cpu=4,gres/gpu=2,gres/gpu:a100=2").replace("|1|CANC", "|UNLIMITED|CANC")
    task = LINE.replace("4|root", "3_1|root", 1).replace("|1|CANC", "|Partition_Limit|CANC")
    first, second = decode(told(gpus, task), MARK, SINCE, UNTIL).runs
    assert (first.gpus, first.limit_s, second.job_id, second.limit_s) == (2, None, "3_1", None)


@pytest.mark.parametrize(
    "line",
    [
        "1|root|x",
        LINE.replace("2026-11-23T03:39:05", "soon"),
        LINE.replace("2026-11-23T03:39:05", "2026-11-23T03:38:00"),
        LINE.replace("cpu=4", "cpu=many"),
        LINE.replace("4|root", "4.batch|root", 1),
        LINE + "|more",
    ],
)
def test_a_line_that_is_not_understood_is_counted_and_the_others_are_kept(line: str) -> None:
    answer = decode(told(line, LINE), MARK, SINCE, UNTIL)
    assert (len(answer.runs), answer.strange) == (1, 1)


def test_a_job_that_never_ran_and_one_that_ended_outside_the_span_are_left_out() -> None:
    never = LINE.replace("2026-11-23T03:39:00", "None")
    answer = decode(told(never, LINE), MARK, SINCE, 1795405145)
    assert (answer.runs, answer.strange) == ((), 0)


def test_a_name_that_looks_like_a_line_makes_no_run() -> None:
    """Whoever submits does not know the mark, which is drawn for each question."""
    forged = LINE.replace("4|root", "5|victim", 1)
    start, end = LINE.split("canc", 1)
    # Only what is between sacct's own fields is marked.
    out = f"{start.replace('|', MARK)}x\n{forged}{end.replace('|', MARK)}\n{forged}\n"
    answer = decode(out + told(LINE), MARK, SINCE, UNTIL)
    assert [(run.job_id, run.user) for run in answer.runs] == [("4", "root"), ("4", "root")]
    assert answer.runs[0].name.startswith("x\n5|victim")
    assert answer.strange == 0


class Answers(CommandRunner):
    """Answers instead of programs; what was asked is checked against the allow-list, and kept."""

    def __init__(self, answer: Callable[[tuple[str, ...]], str], storage: str) -> None:
        super().__init__({})
        self.answer, self.storage, self.asked = answer, storage, []  # type: ignore[var-annotated]

    def run(self, program: str, *arguments: str, timeout_s: float | None = None) -> CommandAnswer:
        check(program, arguments)
        self.asked.append((program, *arguments))
        if program == "scontrol":
            return CommandAnswer(f"AccountingStorageType   = {self.storage}\n", "", 0)
        return CommandAnswer(self.answer(arguments), "", 0)


def test_each_question_has_a_mark_of_its_own() -> None:
    def answer(arguments: tuple[str, ...]) -> str:
        (mark,) = [word.partition("=")[2] for word in arguments if word.startswith("--delimiter=")]
        return LINE.replace("|", mark) + "\n"

    runner = Answers(answer, "accounting_storage/slurmdbd")
    for _ in range(2):
        assert len(look(SINCE, UNTIL, runner=runner).runs) == 1
    marks = {word for asked in runner.asked for word in asked if word.startswith("--delimiter=")}
    assert len(marks) == 2
    assert f"--format={','.join(FIELDS)}" in runner.asked[1]
    assert "--starttime=2026-11-23T03:36:40" in runner.asked[1]


def test_without_accounting_nothing_is_asked_and_a_failure_is_told() -> None:
    runner = Answers(lambda arguments: "", "accounting_storage/none")
    assert not look(SINCE, UNTIL, runner=runner).kept
    assert [asked[0] for asked in runner.asked] == ["scontrol"]

    def away(arguments: tuple[str, ...]) -> str:
        raise SlurmUnavailableError("sacct did not answer within 60 s")

    answer = look(SINCE, UNTIL, runner=Answers(away, "accounting_storage/slurmdbd"))
    assert (answer.kept, answer.fault) == (True, "sacct did not answer within 60 s")


def test_an_answer_that_no_decoder_had_foreseen_raises_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def odd(moment: int) -> str:
        raise TypeError("odd")

    monkeypatch.setattr(finished, "_told", odd)
    answer = look(SINCE, UNTIL, runner=Answers(lambda arguments: "", "accounting_storage/slurmdbd"))
    assert "not understood" in answer.fault
