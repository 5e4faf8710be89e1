"""Program and script of jobs in the queue, from accounting or from the queue."""

import time

import pytest

from deploy.private_slurm import PrivateSlurm
from scheduler.adapters.slurm import finished
from scheduler.adapters.slurm.allowed import check
from scheduler.adapters.slurm.commanded import look
from scheduler.adapters.slurm.commands import CommandAnswer, CommandRunner
from scheduler.adapters.slurm.errors import SlurmUnavailableError

HOSTILE = "x\n9|/bin/forged"


class Answers(CommandRunner):
    """What squeue or sacct would say, with the marks that were asked for."""

    def __init__(self, storage: str, *rows: tuple[str, str]) -> None:
        super().__init__({})
        self.storage, self.rows = storage, rows
        self.asked: list[tuple[str, ...]] = []

    def run(self, program: str, *arguments: str, timeout_s: float | None = None) -> CommandAnswer:
        check(program, arguments)
        self.asked.append((program, *arguments))
        if program == "scontrol":
            return CommandAnswer(f"AccountingStorageType   = {self.storage}\n", "", 0)
        if program == "sacct":
            (mark,) = (word.partition("=")[2] for word in arguments if word.startswith("--delimiter="))
            return CommandAnswer("".join(f"{job}{mark}{line}\n" for job, line in self.rows), "", 0)
        (mark,) = (word[:-1].rpartition(":")[2] for word in arguments if word.startswith("--Format="))
        return CommandAnswer("".join(f"{job}|{line}{mark};\n" for job, line in self.rows), "", 1)


def test_with_accounting_it_is_the_line_of_the_submission() -> None:
    rows = [
        ("7", f"sbatch --wrap={HOSTILE}"),
        ("8_[1-3]", "sbatch -n1 train-4.sh a"),
        ("9", "sbatch true.sh"),
    ]
    runner = Answers("accounting_storage/slurmdbd", *rows)
    said = look(["7", "8_1", "8_2", "9", "10"], runner=runner)
    assert said == {"7": "x", "8_1": "train-#.sh", "8_2": "train-#.sh", "9": "true.sh"}
    assert "--jobs=7,8,9,10" in runner.asked[1]


def test_without_it_is_what_the_queue_tells() -> None:
    rows = [("7", HOSTILE), ("8_1", "/home/ann/train-4.sh a"), ("9", "(null)")]
    runner = Answers("accounting_storage/none", *rows)
    assert look(["7", "8_1", "9"], runner=runner) == {"7": "x", "8_1": "train-#.sh"}
    assert look([], runner=runner) == {}


def test_who_does_not_answer_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def away(*arguments: str, timeout_s: float | None = None) -> CommandAnswer:
        return CommandAnswer("", "slurm_load_ctl_conf error: Unable to contact slurm controller", 1)

    runner = Answers("")
    monkeypatch.setattr(runner, "run", away)
    with pytest.raises(SlurmUnavailableError):
        look(["7"], runner=runner)


@pytest.mark.slurm
@pytest.mark.every_release
class TestOnSlurm:
    """What every release tells."""

    def test_accounting_tells_it_of_waiting_and_of_ended_jobs(self, accounted_slurm: PrivateSlurm) -> None:
        slurm = accounted_slurm
        began = int(time.time())
        wrapped, named = submitted(slurm)
        expected = {wrapped: "python# train.py", f"{named}_1": "run-#.sh", f"{named}_2": "run-#.sh"}
        slurm.wait_until(lambda: look(list(expected), slurm.env) == expected, "slurmdbd tells both")
        slurm.run(["scontrol", "release", named])
        tasks = [(f"{named}_{task}", "run-#.sh") for task in (1, 2)]
        slurm.wait_until(lambda: told(slurm, began, tasks) == tasks, "slurmdbd tells of both tasks")

    def test_the_queue_tells_the_script(self, clean_slurm: PrivateSlurm) -> None:
        wrapped, named = submitted(clean_slurm)
        assert look([wrapped, f"{named}_2"], clean_slurm.env) == {f"{named}_2": "run-#.sh"}
        clean_slurm.clear()


def told(slurm: PrivateSlurm, began: int, tasks: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """These tasks and their commands as slurmdbd tells them; other tests' jobs may have ended just now, too."""
    mine = {task for task, _ in tasks}
    runs = finished.look(began, began + 600, slurm.env).runs
    return sorted((run.job_id, run.command) for run in runs if run.job_id in mine)


def submitted(slurm: PrivateSlurm) -> tuple[str, str]:
    """A command that is wrapped, and an array of a script; both are held."""
    script = slurm.work / "ann" / "run-17.sh"
    script.write_text("#!/bin/bash\ntrue\n")
    held = ("-n1", "--mem=10", "--hold", "--output=/dev/null")
    wrapped = slurm.submit("ann", *held, "--wrap", "python3 -u /opt/train.py --lr 1", script="")
    named = slurm.submit("ann", *held, "--array=1-2", str(script), "x", script="")
    return str(wrapped), str(named)
