"""What a job runs, from the line by which it was submitted: the program, and the script that it is given.

Both are names without folders, arguments or numbers: `sbatch -p gpu ~/run/train-17.sh 0.1` runs `train-#.sh`, and
`sbatch --wrap "python train.py --lr 0.1"` runs `python train.py`. Lines are hostile input, and Slurm keeps them without
their quotes: what is not understood is nothing, never an error.
"""

import re
from collections.abc import Iterator, Sequence

LONGEST = 80
_MOST_WORDS = 200
_SUBMITTERS = {"sbatch", "srun", "salloc"}
_WITH_VALUE = frozenset("aAbBcCdDeEFGiJLmMnNopqRStTwx")
"""sbatch's and srun's options of one letter that take the next word."""
_FLAGS = frozenset({
    "contiguous", "exact", "exclusive", "get-user-env", "hold", "ignore-pbs", "immediate", "kill-on-bad-exit", "label",
    "nice", "no-allocate", "no-kill", "no-requeue", "overcommit", "overlap", "oversubscribe", "parsable", "propagate",
    "pty", "quiet", "reboot", "requeue", "spread-job", "test-only", "unbuffered", "use-min-nodes", "verbose", "wait",
})  # fmt: skip
"""Long options that do not take the next word."""
_STARTERS = re.compile(
    r"(python|perl|ruby|php|node|julia|java|R|Rscript|bash|sh|zsh|mpirun|mpiexec|torchrun)[0-9.]*"
)
"""Programs of which the script tells more than they do themselves."""
_NUMBERS = re.compile(r"[0-9]+")


def command_of(line: str) -> str:
    """Program and script of a line such as `sbatch -n4 train.sh`; empty where it tells none."""
    words = line.split(None, _MOST_WORDS)[:_MOST_WORDS]
    if not words or _name(words[0]) not in _SUBMITTERS:
        return ""
    return program_of(_ran(words[1:]))


def program_of(words: Sequence[str]) -> str:
    """The same of the words that are run."""
    program = _name(words[0]) if words else ""
    if program and _STARTERS.fullmatch(program):
        script = next((_name(word) for word in words[1:] if not word.startswith("-")), "")
        program = f"{program} {script}".strip()
    return _NUMBERS.sub("#", program)[:LONGEST]


def _ran(words: Sequence[str]) -> list[str]:
    """What comes after the options, or what is wrapped."""
    coming: Iterator[str] = iter(words)
    for word in coming:
        name, is_set, value = word.removeprefix("--").partition("=")
        if word.startswith("--") and name == "wrap":
            return [*([value] if is_set else []), *coming]
        if word.startswith("--"):
            if not is_set and name not in _FLAGS:
                next(coming, "")
        elif word.startswith("-") and len(word) > 1:
            if len(word) == 2 and word[1] in _WITH_VALUE:
                next(coming, "")
        else:
            return [word, *coming]
    return []


def _name(word: str) -> str:
    """Without its folder and quotes; nothing where it has characters that no name should have."""
    name = word.strip("'\"").rpartition("/")[2]
    return name if name.isprintable() else ""
