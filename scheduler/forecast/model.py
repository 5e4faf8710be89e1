"""The run-time model: how long a job will run, and how long a running one still will."""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import astuple, dataclass
from typing import Self

import numpy as np

from scheduler.forecast.calibration import SHARES, Levels, Success, read_floats
from scheduler.forecast.facts import MOST_S, EndedJob, Forecast, JobFacts
from scheduler.forecast.features import Atoms, atoms_of
from scheduler.forecast.history import Floats, PastView, RunHistory, log_s
from scheduler.forecast.mixture import Mixtures, Pairs
from scheduler.forecast.training import FEWEST, PASSES, lessons, train
from scheduler.forecast.weighing import RATE, Network

SCHEMA = "giveway.runtime-model/1"
LEARNED_FROM = 0.85
"""Share of the lessons that the first training sees; the rest sets the levels and the shares, and is learned then."""
RENEWED = (0.1, 0.7, 9.0, 0.05, 19.0)
"""What is left, per second run, when nothing in the past ran so long: p10, p50, p90, low, high."""
FAR = 1 - 1e-4


@dataclass(frozen=True, slots=True)
class _Seen:
    """A distribution and, for each of `SHARES`, the middle forecast."""

    network: Floats
    prior: Floats
    atoms: Atoms
    pairs: Pairs
    points: Floats

    def mixtures(self, share: float) -> Mixtures:
        weights = (1 - share) * self.network + share * self.prior
        return Mixtures(self.pairs, weights, self.atoms.limit)


class Model:
    """Forecasts of run times. Everything it says depends only on what it was told, in the order of telling."""

    def __init__(self) -> None:
        self.history = RunHistory()
        self.network = Network()
        self.levels = Levels()
        self.success = Success()
        self.learned = False
        self._waiting: dict[str, tuple[Floats, Floats]] = {}

    @classmethod
    def fit(cls, jobs: Sequence[EndedJob]) -> Self:
        """A model of jobs that have ended; the order does not matter."""
        model = cls()
        taught = lessons(sorted(jobs, key=lambda job: (job.facts.submit, job.id)), model.history)
        first = int(len(taught) * LEARNED_FROM)
        if first >= FEWEST:
            train(model.network, model.history, taught[:first], PASSES)
            model.learned = True
        for lesson in taught[first:]:
            seen = model._see(lesson.look)
            model._judge(seen.points, model._ends(seen), lesson.truth)
        train(model.network, model.history, taught, 1, RATE / 3)
        return model

    @property
    def version(self) -> str:
        """Twelve characters that differ when anything learned does."""
        learned = [values.tobytes() for values in self.network.parameters]
        return hashlib.sha256(b"".join([*learned, str(len(self.history)).encode()])).hexdigest()[:12]

    # --- what happens ---------------------------------------------------------------------------------

    def submitted(self, job_id: str, facts: JobFacts) -> Forecast:
        """The forecast of a new job; it is kept, and judged when the job ends."""
        seen = self._see(self.history.look(facts))
        ends = self._ends(seen)
        self._waiting[job_id] = seen.points, ends
        return self._forecast(seen, ends)

    def started(self, job_id: str, facts: JobFacts, at: int) -> None:
        """A job is seen running since `at`."""
        self.history.start(job_id, facts, at)

    def ended(self, job: EndedJob) -> None:
        """A job has ended: it is history now, and the forecast that was kept is judged."""
        kept = self._waiting.pop(job.id, None)
        if kept is not None:
            self._judge(*kept, log_s(job.runtime_s))
        self.history.end(job)

    def gone(self, job_id: str, facts: JobFacts) -> None:
        """A job is not there any more and will never be told as ended: nothing is learned of it."""
        self._waiting.pop(job_id, None)
        self.history.leave(job_id, facts)

    # --- what is asked --------------------------------------------------------------------------------

    def forecast(self, facts: JobFacts) -> Forecast:
        """How long a job will run from its start; nothing is kept."""
        seen = self._see(self.history.look(facts))
        return self._forecast(seen, self._ends(seen))

    def remaining(self, facts: JobFacts, ran_s: int) -> Forecast:
        """How long a job that has run so long will still run.

        Never a reason to end it: past every forecast it is renewed.
        """
        if ran_s <= 0:
            return self.forecast(facts)
        seen = self._see(self.history.look(facts))
        mixtures = seen.mixtures(self._share())
        ran = log_s(ran_s)
        gone = float(mixtures.below(np.array([ran]))[0])
        if gone > FAR or ran >= mixtures.limit[0, 0]:
            return Forecast(*sorted_five(np.array(RENEWED) * ran_s))
        low, p10, p90, high = self.levels.values
        levels = gone + np.array([p10, 0.5, p90, low, high]) * (1 - gone)
        ends = np.exp(np.maximum(mixtures.quantiles(levels[None])[0], ran)) - ran_s
        if facts.limit_s:
            ends = np.minimum(ends, facts.limit_s - ran_s)
        return Forecast(*sorted_five(ends))

    # --- keeping --------------------------------------------------------------------------------------

    def to_json(self) -> str:
        """Everything but the jobs that run or wait, which are told anew."""
        return json.dumps(
            {
                "schema": SCHEMA,
                "learned": self.learned,
                "network": [values.ravel().tolist() for values in self.network.parameters],
                "levels": self.levels.values.tolist(),
                "success": self.success.gained.tolist(),
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
        network = document.get("network")
        fresh = model.network.parameters
        # A model of before commands were looked at has no weights for them.
        if not isinstance(network, list) or len(network) not in {len(fresh) - 1, len(fresh)}:
            raise ValueError("network must be a list of five lists")
        read = [
            read_floats({"network": values}, "network", was.size).reshape(was.shape).astype(np.float32)
            for values, was in zip(network, fresh, strict=False)
        ]
        model.network.parameters = read + fresh[len(read) :]
        model.levels.values = read_floats(document, "levels", 4)
        model.success.gained = read_floats(document, "success", len(SHARES))
        ended = document.get("ended")
        if not isinstance(ended, list):
            raise ValueError("ended must be a list")  # noqa: TRY004
        for row in ended:
            model.history.end(_unflat(row))
        return model

    # --------------------------------------------------------------------------------------------------

    def _see(self, look: PastView) -> _Seen:
        atoms = atoms_of(self.history, [look])
        prior = np.zeros((*atoms.x.shape, 3))
        prior[:, :, 0] = atoms.prior / atoms.prior.sum(axis=1, keepdims=True)
        network = self.network.weights(atoms) if self.learned else prior
        pairs = Pairs(atoms.x)
        both = [pairs.expected(weights) for weights in (network, prior)]
        expected = (1 - SHARES)[:, None] * both[0] + SHARES[:, None] * both[1]
        expected[:, ~atoms.real[0]] = -1
        return _Seen(network, prior, atoms, pairs, atoms.x[0][expected.argmax(axis=1)])

    def _share(self) -> float:
        return float(SHARES[self.success.best()])

    def _ends(self, seen: _Seen) -> Floats:
        """Log seconds: low, p10, p90, high."""
        ends = seen.mixtures(self._share()).quantiles(self.levels.values[None])[0]
        point = seen.points[self.success.best()]
        ends[:2] = np.minimum(ends[:2], point)
        ends[2:] = np.maximum(ends[2:], point)
        return np.asarray(ends)

    def _judge(self, points: Floats, ends: Floats, truth: float) -> None:
        self.levels.ended(ends, truth)
        self.success.ended(points, truth)

    def _forecast(self, seen: _Seen, ends: Floats) -> Forecast:
        low, p10, p90, high = np.exp(ends)
        return Forecast(
            *sorted_five(np.array([p10, np.exp(seen.points[self.success.best()]), p90, low, high]))
        )


def sorted_five(values: Floats) -> tuple[float, float, float, float, float]:
    """p10, p50, p90, low, high, each at least 1 s, put in order around p50."""
    p10, p50, p90, low, high = (min(max(float(value), 1.0), float(MOST_S)) for value in values)
    p10, p90 = min(p10, p50), max(p90, p50)
    return p10, p50, p90, min(low, p10), max(high, p90)


def _flat(job: EndedJob) -> list[object]:
    return [job.id, *astuple(job.facts), job.runtime_s, job.end, job.start]


def _unflat(row: object) -> EndedJob:
    texts, numbers = (0, 1, 2, 3, 9), (4, 5, 6, 7, 8, 10, 11, 12)
    if isinstance(row, list) and len(row) == 12:
        row = [*row[:9], "", *row[9:]]  # of before commands were looked at
    if (
        not isinstance(row, list)
        or len(row) != 13
        or not all(isinstance(row[column], str) for column in texts)
        or not all(row[column] is None or type(row[column]) is int for column in numbers)
        or any(row[column] is None for column in (8, 10, 11))
    ):
        raise ValueError("a job in ended is not as it was written")
    return EndedJob(row[0], JobFacts(*row[1:10]), row[10], row[11], row[12])
