"""The plain forecasts that the model is measured against.

Each is told what ends, as the model is, and gives one run time.
"""

import copy
from collections import defaultdict, deque
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from statistics import fmean, median
from typing import Protocol

from scheduler.forecast.facts import EndedJob, Forecast, JobFacts
from scheduler.forecast.model import Model
from scheduler.forecast.training import Replay

UNKNOWN_S = 3600.0
"""What is said when nothing has ended yet and there is no limit."""
LAST = 20


class Baseline(Protocol):
    def ended(self, job: EndedJob) -> None:
        """A job has ended; ends are told in their order."""

    def point(self, facts: JobFacts) -> float:
        """Seconds."""


class Limit:
    """Every job runs as long as it may."""

    def ended(self, job: EndedJob) -> None:
        """Nothing is learned."""

    def point(self, facts: JobFacts) -> float:
        return float(facts.limit_s or UNKNOWN_S)


class LastTwo:
    """The mean of the last two jobs of the user that have ended, at most the limit; the limit where there is none."""

    def __init__(self) -> None:
        self._last: dict[str, deque[int]] = defaultdict(lambda: deque(maxlen=2))

    def ended(self, job: EndedJob) -> None:
        self._last[job.facts.user].append(job.runtime_s)

    def point(self, facts: JobFacts) -> float:
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
        for key in self._keys(job.facts):
            self._last[key].append(job.runtime_s)

    def point(self, facts: JobFacts) -> float:
        for key in self._keys(facts):
            last = self._last.get(key)
            if last:
                return _cut(median(last), facts)
        return Limit().point(facts)


def _cut(seconds: float, facts: JobFacts) -> float:
    return min(seconds, float(facts.limit_s)) if facts.limit_s else seconds


# --- How good forecasts are on jobs that were not seen: played in time, never shuffled.
#
# At the submission of a scored job a method has been told the jobs that had ended by then, and what runs.


Clock = Callable[[], float]


def figure(forecast_s: float, true_s: float) -> float:
    """min(p, t) / max(p, t), both at least 1 s."""
    forecast_s, true_s = max(forecast_s, 1.0), max(true_s, 1.0)
    return min(forecast_s, true_s) / max(forecast_s, true_s)


@dataclass(slots=True)
class Points:
    forecasts_s: list[float] = field(default_factory=list)
    figures: list[float] = field(default_factory=list)
    under: int = 0

    def add(self, forecast_s: float, true_s: float) -> None:
        self.forecasts_s.append(forecast_s)
        self.figures.append(figure(forecast_s, true_s))
        self.under += max(forecast_s, 1.0) < max(true_s, 1.0)

    @property
    def accuracy(self) -> float:
        """Mean of min(p, t) / max(p, t)."""
        return fmean(self.figures)

    @property
    def underestimated(self) -> float:
        """Share of the jobs that ran longer than forecast."""
        return self.under / len(self.figures)


@dataclass(slots=True)
class Intervals:
    """How often the 90 % interval held the truth, and how wide it was."""

    inside: int = 0
    width_s: float = 0.0

    def add(self, forecast: Forecast, true_s: float) -> None:
        self.inside += forecast.low <= max(true_s, 1.0) <= forecast.high
        self.width_s += forecast.high - forecast.low


@dataclass(slots=True)
class Scores:
    """`frozen` is the model of the split, told nothing afterwards; it forecasts the same jobs."""

    model: Points = field(default_factory=Points)
    frozen: Points = field(default_factory=Points)
    limit: Points = field(default_factory=Points)
    last_two: Points = field(default_factory=Points)
    median: Points = field(default_factory=Points)
    intervals: Intervals = field(default_factory=Intervals)
    train_s: float = 0.0
    predict_s: float = 0.0


def score(jobs: Sequence[EndedJob], first: int, clock: Clock) -> Scores:
    """Train on the first jobs by submission time, score on the others. `jobs` are in that order."""
    scores = Scores()
    replay = Replay(jobs)
    moment = jobs[first].facts.submit
    began = clock()
    model = trained(jobs[:first], moment)
    scores.train_s = clock() - began
    frozen = copy.deepcopy(model)
    # How long these have run by now it will not learn.
    frozen.history.forget_running()
    baselines: tuple[tuple[Baseline, Points], ...] = (
        (Limit(), scores.limit), (LastTwo(), scores.last_two), (Median(), scores.median),
    )  # fmt: skip
    for ended, job in replay.until(moment):
        if ended:
            for method, _ in baselines:
                method.ended(job)
    for job in jobs[first:]:
        _advance(replay, job.facts.submit, model, [method for method, _ in baselines])
        began = clock()
        forecast = model.submitted(job.id, job.facts)
        scores.predict_s += clock() - began
        scores.model.add(forecast.p50, job.runtime_s)
        scores.intervals.add(forecast, job.runtime_s)
        scores.frozen.add(frozen.forecast(job.facts).p50, job.runtime_s)
        for method, points in baselines:
            points.add(method.point(job.facts), job.runtime_s)
    return scores


def trained(jobs: Sequence[EndedJob], moment: int) -> Model:
    """A model of those that had ended by a moment; those that ran then are told as running, without their ends."""
    ended = [job for job in jobs if max(job.end, job.facts.submit + 1) <= moment]
    model = Model.fit(ended)
    known = {job.id for job in ended}
    for job in jobs:
        if job.id not in known and job.start is not None and job.start <= moment:
            model.started(job.id, job.facts, job.start)
    return model


def _advance(replay: Replay, moment: int, model: Model, baselines: Sequence[Baseline]) -> None:
    for ended, job in replay.until(moment):
        if ended:
            model.ended(job)
            for method in baselines:
                method.ended(job)
        elif job.start is not None:
            model.started(job.id, job.facts, job.start)


@dataclass(frozen=True, slots=True)
class Verdict:
    """Mean figures on later jobs; `better` where the candidate may take the place of the model in force."""

    candidate: float
    in_force: float | None
    median: float

    @property
    def better(self) -> bool:
        """It beats the medians, and the one in force if there is one."""
        return self.candidate > self.median and (self.in_force is None or self.candidate > self.in_force)


def beats(
    candidate: Model, in_force: Model | None, past: Sequence[EndedJob], later: Sequence[EndedJob]
) -> Verdict:
    """Compare on `later` jobs, which neither model was told of. `past` is what the medians begin with.

    The models are copied, so that they stay as they are. Raises `ValueError` when there is no later job.
    """
    if not later:
        raise ValueError("there is no later job to compare the models on")
    results = [_points(copy.deepcopy(model), later) for model in (candidate, in_force) if model is not None]
    plain = Median()
    for job in sorted(past, key=lambda job: job.end):
        plain.ended(job)
    return Verdict(results[0], results[1] if in_force is not None else None, _plain_points(plain, later))


def _points(model: Model, later: Sequence[EndedJob]) -> float:
    replay, points = Replay(later), Points()
    for job in replay.jobs:
        _advance(replay, job.facts.submit, model, [])
        points.add(model.submitted(job.id, job.facts).p50, job.runtime_s)
    return points.accuracy


def _plain_points(plain: Baseline, later: Sequence[EndedJob]) -> float:
    replay, points = Replay(later), Points()
    for job in replay.jobs:
        for ended, over in replay.until(job.facts.submit):
            if ended:
                plain.ended(over)
        points.add(plain.point(job.facts), job.runtime_s)
    return points.accuracy
