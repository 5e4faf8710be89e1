"""What an answer is made of. Sentences are plain text in which nothing is left that a terminal would obey."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from django.utils import timezone
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy

from console.core.l10n_format import set_in_type, with_aside
from console.core.templatetags.ui import ago_words


class About(StrEnum):
    """What a part of an answer is about."""

    WAITING = "waiting"
    STOPPED = "stopped"
    ROOM = "room"
    RUNNING = "running"
    ENDED = "ended"


QUESTIONS: dict[str, Promise] = {
    About.WAITING: gettext_lazy("Why is it waiting?"),
    About.STOPPED: gettext_lazy("Why was it stopped?"),
    About.ROOM: gettext_lazy("How did it get its room?"),
    About.RUNNING: gettext_lazy("What does it do now?"),
    About.ENDED: gettext_lazy("What became of it?"),
}


class Stage(StrEnum):
    """How far a stopped job is on its way back."""

    STOPPING = "stopping"
    """Its stop is written down and not done: it may still save its state."""
    HELD = "held"
    RELEASED = "released"
    RUNNING = "running"
    ENDED = "ended"
    NEVER = "never"
    """It was cancelled, because it cannot be requeued."""
    LOST = "lost"
    """It did not come back, and nobody but its user can have it run again."""
    SPARED = "spared"
    """It was not stopped after all."""


@dataclass(frozen=True, slots=True)
class AnswerLine:
    """A sentence, with the moment that it speaks of, if any: a page keeps its age current.

    It is read with the moment's age behind it: `It was stopped` 2 min ago, `Slurm expects it to start` in 3 h.
    """

    text: str
    at: datetime | None = None

    def __post_init__(self) -> None:
        """It may have been put together from names and words."""
        object.__setattr__(self, "text", set_in_type(self.text))

    def spoken(self, now: datetime) -> str:
        """The sentence with its moment: `It was stopped. (2 min ago, 14:02:31)`."""
        if self.at is None:
            return self.text
        return set_in_type(
            with_aside(self.text.removesuffix("\N{FULLWIDTH COLON}"), moment_words(self.at, now))
        )


@dataclass(frozen=True, slots=True)
class AnswerPart:
    """One question's answer. `plan` is the plan that it speaks of."""

    about: About
    headline: str
    lines: tuple[AnswerLine, ...] = ()
    plan: int | None = None
    asks: str = ""

    def __post_init__(self) -> None:
        """Put together, as a line is."""
        object.__setattr__(self, "headline", set_in_type(self.headline))

    @property
    def question(self) -> str:
        """What it answers, for a page's heading."""
        return self.asks or str(QUESTIONS[self.about])


@dataclass(frozen=True, slots=True)
class Return:
    """When a stopped job comes back."""

    stage: Stage
    text: str
    at: datetime | None = None


@dataclass(frozen=True, slots=True)
class AnsweredStop:
    """One stop of the job to make room for another. `at` is when it was done; None: not yet, or never."""

    plan: int
    job_id: str
    user: str
    at: datetime | None
    stage: Stage
    saved: str = ""


@dataclass(frozen=True, slots=True)
class JobAnswer:
    """All that is to be said of one job, what matters most first. `stops`: how often it was stopped so far."""

    job_id: str
    name: str
    user: str
    partitions: tuple[str, ...]
    state: str
    parts: tuple[AnswerPart, ...]
    stopped_by: tuple[AnsweredStop, ...] = ()
    comes_back: Return | None = None
    plan: int | None = None
    stops: int = 0
    most_stops: int | None = None

    @property
    def headline(self) -> str:
        """The one sentence."""
        return self.parts[0].headline if self.parts else ""

    def lines(self, now: datetime) -> list[str]:
        """Everything after the headline as plain sentences; the parts after the first begin with their headlines."""
        first, *others = self.parts
        said = [line.spoken(now) for line in first.lines]
        for part in others:
            said += [part.headline, *(line.spoken(now) for line in part.lines)]
        return said


def moment_words(at: datetime, now: datetime) -> str:
    """`in 20 s, 14:02:31 UTC`; with the date when it is not today."""
    local = timezone.localtime(at)
    today = local.date() == timezone.localtime(now).date()
    exact = f"{local:%H:%M:%S %Z}" if today else f"{local:%Y-%m-%d %H:%M:%S %Z}"
    return f"{ago_words((now - at).total_seconds())}, {exact}"
