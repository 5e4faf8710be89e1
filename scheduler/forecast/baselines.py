"""The plain forecasts that the model is measured against.

Each is told what ends, as the model is, and gives one run time.
"""

from collections import defaultdict, deque
from collections.abc import Hashable
from statistics import fmean, median
from typing import Protocol

from scheduler.forecast.facts import EndedJob, JobFacts

UNKNOWN_S = 3600.0
"""What is said when nothing has ended yet and there is no limit."""
LAST = 20


class Baseline(Protocol):
    """One method."""

    def ended(self, job: EndedJob) -> None:
        """A job has ended; ends are told in their order."""

    def point(self, facts: JobFacts) -> float:
        """Seconds."""


class Limit:
    """Every job runs as long as it may."""

    def ended(self, job: EndedJob) -> None:
        """Nothing is learned."""

    def point(self, facts: JobFacts) -> float:
        """The limit."""
        return float(facts.limit_s or UNKNOWN_S)


class LastTwo:
    """The mean of the last two jobs of the user that have ended, at most the limit; the limit where there is none."""

    def __init__(self) -> None:
        self._last: dict[str, deque[int]] = defaultdict(lambda: deque(maxlen=2))

    def ended(self, job: EndedJob) -> None:
        """Keep the last two of every user."""
        self._last[job.facts.user].append(job.runtime_s)

    def point(self, facts: JobFacts) -> float:
        """Seconds."""
        last = self._last.get(facts.user)
        return _cut(fmean(last), facts) if last else Limit().point(facts)


class Median:
    """The median of the last twenty alike.

    Alike: of one user, name and request; of one user and request; of the user; of the group; all.
    """

    def __init__(self) -> None:
        self._last: dict[Hashable, deque[int]] = defaultdict(lambda: deque(maxlen=LAST))

    @staticmethod
    def _keys(facts: JobFacts) -> tuple[Hashable, ...]:
        request = facts.limit_s, facts.size
        return (facts.owner, facts.name, request), (facts.owner, request), facts.owner, facts.group, None

    def ended(self, job: EndedJob) -> None:
        """Keep the job under each of its keys."""
        for key in self._keys(job.facts):
            self._last[key].append(job.runtime_s)

    def point(self, facts: JobFacts) -> float:
        """Seconds."""
        for key in self._keys(facts):
            last = self._last.get(key)
            if last:
                return _cut(median(last), facts)
        return Limit().point(facts)


def _cut(seconds: float, facts: JobFacts) -> float:
    return min(seconds, float(facts.limit_s)) if facts.limit_s else seconds
