"""The run-time model: how long a job will run, and how long a running one still will."""

import hashlib
import json
from collections.abc import Hashable, Sequence
from dataclasses import astuple, dataclass
from typing import Self

import numpy as np

from scheduler.forecast.calibration import SAME, Levels, Success, read_floats
from scheduler.forecast.facts import INNER, MOST_S, EndedJob, Forecast, JobFacts
from scheduler.forecast.features import Atoms, atoms_of
from scheduler.forecast.history import REACHED, TWINS, Floats, PastView, RunHistory, keys_of, log_s
from scheduler.forecast.mixture import EVEN, MIXTURES, SHARPNESS, Mixtures, Pairs, sharpened
from scheduler.forecast.training import FEWEST, RATE, Networks, lessons, passes_for, train

SCHEMA = "giveway.runtime-model/4"
LEARNED_FROM = 0.85
"""Share of the lessons that the first training sees; the rest sets the levels and the shares, and is learned then."""
RENEWED = (0.1, 0.7, 9.0, 0.05, 19.0)
"""What is left, per second run, when nothing in the past ran so long: p10, p50, p90, low, high."""
FAR = 1 - 1e-4
BURST_S = 60
"""Jobs of one owner with the same request, submitted so soon after the first of them, are told the same and miss it
together: the n-th of them that ends counts 1 / n."""


@dataclass(frozen=True, slots=True)
class _Seen:
    """A distribution and, for each of `MIXTURES`, the middle forecast; `best`: the one that serves.

    `parts`: the learned weights by `SHARPNESS`, the fixed ones, and these made even. `limit`, `most`: how long it may
    run, and how long it can be recorded as running, in log seconds; without a limit both are the latter.
    """

    parts: Sequence[Floats]
    atoms: Atoms
    pairs: Pairs
    points: Floats
    best: int
    limit: float
    most: float

    @property
    def point(self) -> float:
        """Log seconds: the middle forecast."""
        return float(self.points[self.best])

    def mixtures(self) -> Mixtures:
        shares = zip(MIXTURES[self.best], self.parts, strict=True)
        weights = sum(share * weights for share, weights in shares if share)
        return Mixtures(self.pairs, np.asarray(weights), self.atoms.real, np.array([[self.limit]]))

    def beyond(self, ends: Floats) -> Floats:
        """Upper ends, log seconds: one that is at the limit is where those are recorded whom it ends."""
        return np.where(ends >= self.limit - SAME, self.most, ends)


class Model:
    """Forecasts of run times. Everything it says depends only on what it was told, in the order of telling."""

    def __init__(self) -> None:
        self.history = RunHistory()
        self.networks = Networks()
        self.levels = Levels()
        self.success = Success()
        self.learned = False
        self._waiting: dict[str, tuple[Floats, Floats, float]] = {}
        self._bursts: dict[Hashable, tuple[int, int]] = {}
        """By request, when the first of the last burst was submitted, and how many of it have been judged."""

    @classmethod
    def fit(cls, jobs: Sequence[EndedJob]) -> Self:
        """A model of jobs that have ended; the order does not matter."""
        model = cls()
        taught = lessons(sorted(jobs, key=lambda job: (job.facts.submit, job.id)), model.history)
        first = int(len(taught) * LEARNED_FROM)
        if first >= FEWEST:
            train(model.networks, model.history, taught[:first], passes_for(first))
            model.learned = True
        for lesson in taught[first:]:
            seen = model._see(lesson.look, lesson.facts)
            ends = model._ends(seen)[0]
            model._judge(lesson.facts, lesson.runtime_s, seen.points, ends, seen.most)
        train(model.networks, model.history, taught, 1, RATE / 3)
        return model

    @property
    def version(self) -> str:
        """Twelve characters that differ when anything learned does."""
        learned = [values.tobytes() for network in self.networks.each for values in network.parameters]
        return hashlib.sha256(b"".join([*learned, str(len(self.history)).encode()])).hexdigest()[:12]

    # --- what happens ---------------------------------------------------------------------------------

    def submitted(self, job_id: str, facts: JobFacts) -> Forecast:
        """The forecast of a new job; it is kept, and judged when the job ends."""
        seen = self._see(self.history.look(facts), facts)
        ends, inner = self._ends(seen)
        self._waiting[job_id] = seen.points, ends, seen.most
        return self._forecast(seen, ends, inner)

    def started(self, job_id: str, facts: JobFacts, at: int) -> None:
        self.history.start(job_id, facts, at)

    def ended(self, job: EndedJob) -> None:
        """A job has ended: it is history now, and the forecast that was kept is judged."""
        kept = self._waiting.pop(job.id, None)
        if kept is not None:
            self._judge(job.facts, job.runtime_s, *kept)
        self.history.end(job)

    def gone(self, job_id: str, facts: JobFacts) -> None:
        """A job is not there any more and will never be told as ended: nothing is learned of it."""
        self._waiting.pop(job_id, None)
        self.history.leave(job_id, facts)

    # --- what is asked --------------------------------------------------------------------------------

    def forecast(self, facts: JobFacts) -> Forecast:
        """How long a job will run from its start; nothing is kept."""
        seen = self._see(self.history.look(facts), facts)
        return self._forecast(seen, *self._ends(seen))

    def remaining(self, facts: JobFacts, ran_s: int) -> Forecast:
        """How long a job that has run so long will still run.

        Never a reason to end it: past every forecast it is renewed.
        """
        if ran_s <= 0:
            return self.forecast(facts)
        seen = self._see(self.history.look(facts), facts)
        mixtures = seen.mixtures()
        ran, most_s = log_s(ran_s), self.history.most_s(facts.limit_s)
        gone = float(mixtures.below(np.array([ran]))[0])
        if gone > FAR or ran >= seen.limit:
            renewed = np.array(RENEWED) * ran_s
            ends_soon = facts.limit_s and ran_s < most_s
            return Forecast(*sorted_five(np.minimum(renewed, most_s - ran_s) if ends_soon else renewed))
        low, p10, p90, high = self.levels.values
        levels = gone + np.array([p10, 0.5, p90, low, high, *INNER]) * (1 - gone)
        ends = mixtures.quantiles(levels[None])[0]
        ends[[2, 4]] = seen.beyond(ends[[2, 4]])
        left = np.exp(np.maximum(ends, ran)) - ran_s
        return Forecast(*sorted_five(left[:5]), _told(left[5:]))

    # --- keeping --------------------------------------------------------------------------------------

    def to_json(self) -> str:
        """Everything but the jobs that run or wait, which are told anew."""
        return json.dumps(
            {
                "schema": SCHEMA,
                "learned": self.learned,
                "networks": self.networks.document(),
                "levels": self.levels.values.tolist(),
                **self.success.document(),
                "overruns_s": list(self.history.overruns_s),
                "longest_s": self.history.longest_s,
                "ended": [_flat(job) for job in self.history.kept()],
            },
            separators=(",", ":"),
        )

    @classmethod
    def from_json(cls, text: str) -> Self:
        """What `to_json` wrote. Raises `ValueError` for anything else; nothing in the text is run."""
        document = json.loads(text)
        if not isinstance(document, dict) or document.get("schema") != SCHEMA:
            raise ValueError(f"this is not a model of the kind {SCHEMA}")
        model = cls()
        model.learned = document.get("learned") is True
        model.networks = Networks.read(document.get("networks"))
        model.levels.values = read_floats(document, "levels", 4)
        model.success = Success.read(document)
        ended = document.get("ended")
        if not isinstance(ended, list):
            raise ValueError("ended must be a list")  # noqa: TRY004
        for row in ended:
            model.history.end(_unflat(row))
        model.history.overruns_s.clear()
        model.history.overruns_s.extend(_seconds(document.get("overruns_s")))
        [model.history.longest_s] = _seconds([document.get("longest_s")])
        return model

    # --------------------------------------------------------------------------------------------------

    def _see(self, look: PastView, facts: JobFacts) -> _Seen:
        atoms = atoms_of(self.history, [look])
        prior = np.zeros((*atoms.x.shape, 3))
        prior[:, :, 0] = atoms.prior / atoms.prior.sum(axis=1, keepdims=True)
        even = sharpened(prior, EVEN)
        network = self.networks.weights(atoms) if self.learned else even
        parts = [*(sharpened(network, power) for power in SHARPNESS), prior, even]
        pairs = Pairs(atoms.x)
        expected = MIXTURES @ np.concatenate([pairs.expected(weights) for weights in parts])
        expected[:, ~atoms.real[0]] = -1
        most = log_s(self.history.most_s(facts.limit_s))
        limit = look.limit if facts.limit_s else most
        points = np.minimum(atoms.x[0][expected.argmax(axis=1)], limit)
        return _Seen(parts, atoms, pairs, points, self.success.best(facts.owner), limit, most)

    def _ends(self, seen: _Seen) -> tuple[Floats, Floats]:
        """Log seconds: low, p10, p90, high; and what is at `INNER`."""
        quantiles = seen.mixtures().quantiles(np.array([[*self.levels.values, *INNER]]))[0]
        ends = quantiles[:4]
        ends[:2] = np.minimum(ends[:2], seen.point)
        ends[2:] = seen.beyond(np.maximum(ends[2:], seen.point))
        return ends, quantiles[4:]

    def _judge(self, facts: JobFacts, runtime_s: int, points: Floats, ends: Floats, most: float) -> None:
        request, truth = keys_of(facts)[TWINS], log_s(runtime_s)
        first, judged = self._bursts.get(request, (facts.submit, 0))
        if not 0 <= facts.submit - first <= BURST_S:
            first, judged = facts.submit, 0
        self._bursts[request] = first, judged + 1
        self.levels.ended(ends, min(truth, most), 1 / (judged + 1))
        self.success.ended(facts.owner, points, truth)

    def _forecast(self, seen: _Seen, ends: Floats, inner: Floats) -> Forecast:
        low, p10, p90, high = np.exp(ends)
        five = sorted_five(np.array([p10, np.exp(seen.point), p90, low, high]))
        return Forecast(*five, _told(np.exp(inner)))


def sorted_five(values: Floats) -> tuple[float, float, float, float, float]:
    """p10, p50, p90, low, high, each at least 1 s, put in order around p50."""
    p10, p50, p90, low, high = _told(values)
    p10, p90 = min(p10, p50), max(p90, p50)
    return p10, p50, p90, min(low, p10), max(high, p90)


def _told(values: Floats) -> tuple[float, ...]:
    # The logarithm of whole seconds and back gives a little less or more than them.
    return tuple(round(min(max(float(value), 1.0), float(MOST_S)), 6) for value in values)


def _seconds(values: object) -> list[int]:
    if not isinstance(values, list) or len(values) > REACHED:
        raise ValueError(f"overruns_s must be a list of at most {REACHED} numbers")
    if any(type(value) is not int or value < 0 for value in values):
        raise ValueError("overruns_s and longest_s must be whole seconds")
    return values


def _flat(job: EndedJob) -> list[object]:
    return [job.id, *astuple(job.facts), job.runtime_s, job.end, job.start]


def _unflat(row: object) -> EndedJob:
    texts, numbers = (0, 1, 2, 3, 9), (4, 5, 6, 7, 8, 10, 11, 12)
    if (
        not isinstance(row, list)
        or len(row) != 13
        or not all(isinstance(row[column], str) for column in texts)
        or not all(row[column] is None or type(row[column]) is int for column in numbers)
        or any(row[column] is None for column in (8, 10, 11))
    ):
        raise ValueError("a job in ended is not as it was written")
    return EndedJob(row[0], JobFacts(*row[1:10]), row[10], row[11], row[12])
