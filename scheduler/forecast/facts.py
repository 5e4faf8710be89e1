"""What is known of a job when it is submitted, what is known when it has ended, and a forecast."""

import re
from dataclasses import dataclass
from functools import cached_property

MOST_S = 10**12
P80_BETWEEN = 0.6567
"""Of the way from the median to the 90th hundredth of a normal distribution: 0.8416 of 1.2816."""
INNER = (0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8)
"""Which parts of a distribution `Forecast.inner` has."""
Owner = tuple[str, str]
"""Of what kind, and the name: ("user", "ann")."""
_NUMBERS = re.compile(r"[0-9]+")


@dataclass(frozen=True)
class JobFacts:
    """A job as its user submitted it. "" and None stand for what is not known; cpus and gpus are of all nodes.

    `command`: program and script, as `scheduler.model.command_line.command_of` tells them.
    """

    user: str = ""
    group: str = ""
    name: str = ""
    limit_s: int | None = None
    nodes: int | None = None
    cpus: int | None = None
    gpus: int | None = None
    submit: int = 0
    command: str = ""

    @cached_property
    def owner(self) -> Owner:
        """Whose history counts: the user, or the group where no user is told."""
        return ("user", self.user) if self.user else ("group", self.group)

    @cached_property
    def size(self) -> tuple[int | None, int | None, int | None]:
        """The request, as far as it is told."""
        return self.nodes, self.cpus, self.gpus

    @cached_property
    def stem(self) -> str:
        """The name without its numbers: `train-17` and `train-18` are runs of one thing."""
        return _NUMBERS.sub("#", self.name)


@dataclass(frozen=True, slots=True)
class EndedJob:
    """A run that is over. `start` is None where it was not recorded; times are epoch seconds."""

    id: str
    facts: JobFacts
    runtime_s: int
    end: int
    start: int | None = None


@dataclass(frozen=True, slots=True)
class Forecast:
    """Seconds, ordered: low <= p10 <= p50 <= p90 <= high. `low` to `high` holds 90 % of the true run times.

    `p50` is the middle forecast: the run time whose expected min(p, t) / max(p, t) is the largest. `inner`: the
    quantiles at `INNER`, for those who draw run times: of two habits, or of one chance in three to run into the limit,
    the others tell nothing. Empty where only they are known.
    """

    p10: float
    p50: float
    p90: float
    low: float
    high: float
    inner: tuple[float, ...] = ()

    def at_most(self, most: float | None) -> "Forecast":
        """Nobody runs beyond his limit."""
        top = MOST_S if most is None else most

        def cut(value: float) -> float:
            return max(1.0, min(value, top))

        five = cut(self.p10), cut(self.p50), cut(self.p90), cut(self.low), cut(self.high)
        return Forecast(*five, tuple(cut(value) for value in self.inner))

    @property
    def p80(self) -> float:
        """Between p50 and p90, as far as the 80th hundredth lies between them where logarithms are normal."""
        return float(self.p50 * (self.p90 / self.p50) ** P80_BETWEEN)
