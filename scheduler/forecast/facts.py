"""What is known of a job when it is submitted, what is known when it has ended, and a forecast."""

import re
from dataclasses import dataclass
from functools import cached_property

MOST_S = 10**12
P80_BETWEEN = 0.6567
"""Of the way from the median to the 90th hundredth of a normal distribution: 0.8416 of 1.2816."""
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

    `p50` is the middle forecast: the run time whose expected min(p, t) / max(p, t) is the largest.
    """

    p10: float
    p50: float
    p90: float
    low: float
    high: float

    @property
    def p80(self) -> float:
        """Between p50 and p90, as far as the 80th hundredth lies between them where logarithms are normal."""
        return float(self.p50 * (self.p90 / self.p50) ** P80_BETWEEN)
