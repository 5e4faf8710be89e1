"""A noisy line between Giveway and the real Slurm: commands are carried out, and their answers come back spoilt.

How an answer is spoilt is drawn from a seed: cut, rows or fields lost, exchanged, doubled or put in, another release's
words, numbers out of all bounds, no text at all, a wrong exit code, words that nobody has heard of, no answer in time.
Now and then a command is lost on its way there. What is never made up is a well-formed answer about just that job.
"""

import random
import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

from scheduler.adapters.slurm.commands import CommandAnswer, CommandRunner
from scheduler.adapters.slurm.errors import SlurmTimeoutError

READS = 0.12
"""Share of spoilt answers among those that an observation is made of: four good ones in a row are wanted for it."""
OTHERS = 0.5
"""The same for looks at single jobs, and for everything that changes something."""
OTHER_RELEASES = (
    ("RUNNING", "EXPEDITING"),
    ("PENDING", "HELD_SOMEHOW"),
    ("UserId=", "SLUID=s0F1A2B3C4D5E UserId="),
    ("OverSubscribe=OK", "OverSubscribe=NO Exclusive=NO"),
    ("|OK|", "|NO|"),
    ("TRES=", "ReqTRES=cpu=1 AllocTRES="),
    ("gres:gpu", "gres/gpu"),
    ("NumNodes=1", "NumNodes=1-15"),
    ("|10|", "|0:10|"),
    ("|0:10|", "|10|"),
    ("Command=", "SubmitLine=sbatch x Command="),
    ("(null)", "NOT_SET_AT_ALL"),
)
HEARD_OF_BY_NOBODY = ("Fatal: the gnomes are on strike", "error: 0x7f", "\x00\x01\ufffd\n" * 3, "Zut alors")
_SEPARATORS = re.compile(r"([| \n])")

Way = Callable[[random.Random, CommandAnswer], CommandAnswer]


def _cut(chance: random.Random, answer: CommandAnswer) -> CommandAnswer:
    return CommandAnswer(answer.out[: chance.randrange(len(answer.out) + 1)], answer.err, answer.code)


def _fewer_lines(chance: random.Random, answer: CommandAnswer) -> CommandAnswer:
    lines = answer.out.splitlines(keepends=True)
    return CommandAnswer("".join(line for line in lines if chance.random() < 0.6), answer.err, answer.code)


def _other_order(chance: random.Random, answer: CommandAnswer) -> CommandAnswer:
    lines = answer.out.splitlines(keepends=True)
    return CommandAnswer("".join(chance.sample(lines, len(lines))), answer.err, answer.code)


def _doubled(chance: random.Random, answer: CommandAnswer) -> CommandAnswer:
    lines = answer.out.splitlines(keepends=True)
    return CommandAnswer("".join(lines + chance.sample(lines, len(lines) // 2)), answer.err, answer.code)


def _fields(chance: random.Random, answer: CommandAnswer) -> CommandAnswer:
    """Two fields change places, one is lost, or one is put in, at a few places."""
    parts = _SEPARATORS.split(answer.out)
    for _ in range(chance.randint(1, 4)):
        one, other = chance.randrange(len(parts)), chance.randrange(len(parts))
        match chance.randrange(3):
            case 0:
                parts[one], parts[other] = parts[other], parts[one]
            case 1:
                parts[one] = ""
            case _:
                parts.insert(one, chance.choice(("|", "x=", "(null)", "\ufffd", "0")))
    return CommandAnswer("".join(parts), answer.err, answer.code)


def _other_release(chance: random.Random, answer: CommandAnswer) -> CommandAnswer:
    text = answer.out
    for ours, theirs in chance.sample(OTHER_RELEASES, 4):
        text = text.replace(ours, theirs)
    return CommandAnswer(text, answer.err, answer.code)


def _out_of_bounds(chance: random.Random, answer: CommandAnswer) -> CommandAnswer:
    numbers = [match.span() for match in re.finditer(r"\d+", answer.out)]
    if not numbers:
        return CommandAnswer("9" * 400, answer.err, answer.code)
    begin, end = chance.choice(numbers)
    wrong = chance.choice(("9" * 400, "-1", "99999-01-01T00:00:00", "18446744073709551615", "1e9"))
    return CommandAnswer(answer.out[:begin] + wrong + answer.out[end:], answer.err, answer.code)


def _no_text(chance: random.Random, answer: CommandAnswer) -> CommandAnswer:
    noise = "".join(map(chr, (chance.randrange(1, 0x250) for _ in range(chance.randint(1, 2000)))))
    return CommandAnswer(noise, answer.err, answer.code)


def _empty(_chance: random.Random, answer: CommandAnswer) -> CommandAnswer:
    return CommandAnswer("", "", answer.code)


def _wrong_code(chance: random.Random, answer: CommandAnswer) -> CommandAnswer:
    return CommandAnswer(answer.out, answer.err, 0 if answer.code else chance.choice((1, 2, 255, -9)))


def _strange_words(chance: random.Random, answer: CommandAnswer) -> CommandAnswer:
    return CommandAnswer("", chance.choice(HEARD_OF_BY_NOBODY), chance.choice((1, 255)))


def _too_late(_chance: random.Random, _answer: CommandAnswer) -> CommandAnswer:
    raise SlurmTimeoutError("the answer did not come in time (garbled)")


OF_TEXTS: tuple[Way, ...] = (
    _cut, _fewer_lines, _other_order, _doubled, _fields, _fields, _other_release, _out_of_bounds, _no_text, _empty,
    _wrong_code, _strange_words, _too_late,
)  # fmt: skip
OF_CHANGES: tuple[Way, ...] = (_no_text, _wrong_code, _wrong_code, _strange_words, _too_late)
"""A change that was made says nothing, so there is nothing to be cut."""


@dataclass
class Line:
    """The line itself, to be put in the place of `Runner.run`. `spoilt`: how many answers, by command."""

    seed: int
    noisy: bool = False
    spoilt: Counter[str] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        self._chance = random.Random(self.seed)
        self._real = CommandRunner.run

    def run(
        self, runner: CommandRunner, program: str, *arguments: str, timeout_s: float | None = None
    ) -> CommandAnswer:
        """As `Runner.run`, and sometimes not."""
        share = READS if _is_read(program, arguments) else OTHERS
        if not self.noisy or self._chance.random() >= share:
            return self._real(runner, program, *arguments, timeout_s=timeout_s)
        self.spoilt[command(program, arguments)] += 1
        if self._chance.random() < 0.1:
            raise SlurmTimeoutError("it was lost on its way (garbled)")
        answer = self._real(runner, program, *arguments, timeout_s=timeout_s)
        ways = OF_TEXTS if answer.out else OF_CHANGES
        return self._chance.choice(ways)(self._chance, answer)

    @property
    def by_program(self) -> Counter[str]:
        """Spoilt answers by program."""
        sums: Counter[str] = Counter()
        for name, count in self.spoilt.items():
            sums[name.split()[0]] += count
        return sums


def command(program: str, arguments: tuple[str, ...]) -> str:
    """What a call is counted as: `squeue`, `scontrol show`, `scontrol requeuehold`."""
    words = [argument for argument in arguments if not argument.startswith("--")]
    return f"{program} {words[0]}" if program == "scontrol" and words else program


def _is_read(program: str, arguments: tuple[str, ...]) -> bool:
    """Whether it is part of an observation, and not a look at single jobs."""
    shown = program == "scontrol" and "show" in arguments
    return shown or (program == "squeue" and not any(a.startswith("--jobs=") for a in arguments))
