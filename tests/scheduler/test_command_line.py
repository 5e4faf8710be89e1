"""Program and script of the line by which a job was submitted."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scheduler.model.command_line import LONGEST, command_of


@pytest.mark.parametrize(
    ("line", "command"),
    [
        ("sbatch train.sh", "train.sh"),
        ("sbatch -p gpu -n4 -t 60 --mem=10G /home/ann/run-17/train-17.sh 0.1", "train-#.sh"),
        ("/usr/bin/sbatch --partition gpu --exclusive --job-name x train.sh --wrap y", "train.sh"),
        ("sbatch --parsable -Jx -H train.sh", "train.sh"),
        ("sbatch -p gpu --wrap=python3 -u /opt/train.py --lr 0.1", "python# train.py"),
        ('sbatch --wrap "bash run.sh a"', "bash run.sh"),
        ("sbatch --wrap=./solver --n 3", "solver"),
        ("srun -n 2 --mpi=pmix ./solver in.dat", "solver"),
        ("srun --pty bash", "bash"),
        ("sbatch -n1", ""),
        ("sbatch", ""),
        ("", ""),
        ("qsub train.sh", ""),
        ("sbatch --array=1-5 --dependency afterok:7 a\x1b[31m.sh", ""),
    ],
)
def test_a_line_tells_program_and_script(line: str, command: str) -> None:
    assert command_of(line) == command


@given(st.text() | st.text().map(lambda text: f"sbatch {text}"))
def test_any_text_gives_a_short_printable_word_or_nothing(line: str) -> None:
    told = command_of(line)
    assert len(told) <= LONGEST
    assert told.isprintable()
