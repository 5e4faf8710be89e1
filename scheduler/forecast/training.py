"""Learned weights of likeness: how much each atom of a job counts, and with which width.

One small network (one hidden layer) looks at the figures of one atom at a time and gives a score per width; the softmax
over all atoms and widths of a job are the weights. It is trained to give the true run times the largest likelihood,
which has the short gradient `weight - share of the likelihood`. It knows only figures of likeness: no names.

It reckons in double precision: in single, thousands of steps made of the rounding of one processor's, or one number of
threads', matrix products a model that differed in the fourth digit.
"""

import heapq
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Self

import numpy as np

from scheduler.forecast.calibration import read_floats
from scheduler.forecast.facts import EndedJob, JobFacts
from scheduler.forecast.features import COMMAND_FIGURES, FIGURES, Atoms, atoms_of
from scheduler.forecast.history import Floats, PastView, RunHistory, log_s
from scheduler.forecast.mixture import WIDTHS, densities

HIDDEN = 24
RATE = 3e-3
NETWORKS = 3
"""They begin differently; the mean of their weights errs less than those of one."""


def _start(seed: int = 0) -> list[Floats]:
    # Always the same beginning: a model is a function of its history.
    chance = np.random.default_rng(seed)
    shapes = ((FIGURES, HIDDEN), (HIDDEN, len(WIDTHS)))
    scales = (FIGURES**-0.5, 0.1)
    inner, outer = (chance.normal(size=shape) * scale for shape, scale in zip(shapes, scales, strict=True))
    commands = np.zeros((COMMAND_FIGURES, HIDDEN))
    return [inner, np.zeros(HIDDEN), outer, np.zeros(len(WIDTHS)), commands]


@dataclass(slots=True)
class Network:
    """The parameters and the state of Adam, which changes them."""

    parameters: list[Floats] = field(default_factory=_start)
    _means: list[Floats] = field(default_factory=list)
    _squares: list[Floats] = field(default_factory=list)
    _steps: int = 0

    def weights(self, atoms: Atoms) -> Floats:
        """(jobs, atoms, widths), with sum 1 per job."""
        return _softmax(self._scores(self._hidden(atoms)), atoms)

    def learn(self, atoms: Atoms, truth: Floats, rate: float) -> None:
        """One step towards the true run times (log seconds) of some jobs."""
        hidden = self._hidden(atoms)
        weights = _softmax(self._scores(hidden), atoms)
        explained = weights * densities(np.abs(truth[:, None] - atoms.x))
        explained /= explained.sum(axis=(1, 2), keepdims=True)
        slope = (weights - explained) / len(atoms)
        self._step(self._gradient(atoms, hidden, slope), rate)

    def _hidden(self, atoms: Atoms) -> Floats:
        inner, bias, _, _, commands = self.parameters
        before = atoms.figures @ inner + bias
        if atoms.commands is not None:
            before += atoms.commands @ commands
        return np.asarray(np.maximum(before, 0), np.float64)

    def _scores(self, hidden: Floats) -> Floats:
        _, _, outer, bias, _ = self.parameters
        return np.asarray(hidden @ outer + bias, np.float64)

    def _gradient(self, atoms: Atoms, hidden: Floats, slope: Floats) -> Iterable[Floats]:
        figures = atoms.figures.reshape(-1, FIGURES)
        hidden, slope = hidden.reshape(-1, HIDDEN), slope.reshape(-1, len(WIDTHS))
        inside = (slope @ self.parameters[2].T) * (hidden > 0)
        commands = np.zeros_like(self.parameters[-1])
        if atoms.commands is not None:
            commands = atoms.commands.reshape(-1, COMMAND_FIGURES).T @ inside
        return figures.T @ inside, inside.sum(axis=0), hidden.T @ slope, slope.sum(axis=0), commands

    def _step(self, gradient: Iterable[Floats], rate: float) -> None:
        if not self._means:
            self._means = [np.zeros_like(values) for values in self.parameters]
            self._squares = [np.zeros_like(values) for values in self.parameters]
        self._steps += 1
        fresh, fresh_square = 1 - 0.9**self._steps, 1 - 0.999**self._steps
        for number, slope in enumerate(gradient):
            self._means[number] = 0.9 * self._means[number] + 0.1 * slope
            self._squares[number] = 0.999 * self._squares[number] + 0.001 * slope**2
            root = np.sqrt(self._squares[number] / fresh_square) + 1e-8
            self.parameters[number] -= rate * (self._means[number] / fresh) / root


@dataclass(slots=True)
class Networks:
    """Several networks that learn the same, and the mean of what they say."""

    each: list[Network] = field(default_factory=lambda: [Network(_start(seed)) for seed in range(NETWORKS)])

    def weights(self, atoms: Atoms) -> Floats:
        """(jobs, atoms, widths), with sum 1 per job."""
        return np.asarray(sum(network.weights(atoms) for network in self.each) / len(self.each))

    def learn(self, atoms: Atoms, truth: Floats, rate: float) -> None:
        for network in self.each:
            network.learn(atoms, truth, rate)

    def document(self) -> list[list[list[float]]]:
        return [[values.ravel().tolist() for values in network.parameters] for network in self.each]

    @classmethod
    def read(cls, document: object) -> Self:
        """Of a JSON document. Raises `ValueError`."""
        if not isinstance(document, list) or not document:
            raise ValueError("networks must be a list of networks")
        return cls([Network(_parameters(row)) for row in document])


def _parameters(row: object) -> list[Floats]:
    fresh = _start()
    if not isinstance(row, list) or len(row) != len(fresh):
        raise ValueError("a network must be a list of five lists")
    return [
        read_floats({"network": values}, "network", was.size).reshape(was.shape)
        for values, was in zip(row, fresh, strict=True)
    ]


def _softmax(scores: Floats, atoms: Atoms) -> Floats:
    scores = np.where(atoms.real[:, :, None], scores, -np.inf)
    powers = np.exp(scores - scores.max(axis=(1, 2), keepdims=True))
    return np.asarray(powers / powers.sum(axis=(1, 2), keepdims=True))


# --- From ended jobs to a trained network: the past is played again, and each job seen as at its submission.


MOST_LESSONS = 40_000
"""Only so many of the last jobs are learned from; all are in the history."""
PASSES, MOST_PASSES = 6, 24
FEWEST_STEPS = 500
"""Where few have ended, lessons are gone through more often, until so many steps were made."""
BATCHES, SMALLEST, LARGEST = 64, 32, 64
"""A pass has so many steps, of at least and at most so many lessons."""
FEWEST = 64
"""With fewer jobs than this nothing is learned: the weights of `features.PRIOR` serve alone."""


@dataclass(frozen=True, slots=True)
class Lesson:
    """A job as it was seen at its submission, and how long it ran."""

    look: PastView
    facts: JobFacts
    runtime_s: int


class Replay:
    """Tells a listener what was seen, moment by moment, of jobs whose whole course is known.

    Nothing of a job is told in the second of its submission, and a run time not before its end.
    """

    def __init__(self, jobs: Sequence[EndedJob]) -> None:
        self.jobs = sorted(jobs, key=lambda job: job.facts.submit)
        self._coming: list[tuple[int, int, int]] = []
        for number, job in enumerate(self.jobs):
            first = job.facts.submit + 1
            self._coming.append((max(job.end, first), 1, number))
            if job.start is not None and job.start < job.end:
                self._coming.append((max(job.start, first), 0, number))
        heapq.heapify(self._coming)

    def until(self, moment: int) -> Iterator[tuple[bool, EndedJob]]:
        """What happened since the last call, up to and with this moment.

        (True, a job that ended) or (False, one that started).
        """
        while self._coming and self._coming[0][0] <= moment:
            _, ended, number = heapq.heappop(self._coming)
            yield bool(ended), self.jobs[number]


def lessons(jobs: Sequence[EndedJob], history: RunHistory) -> list[Lesson]:
    """Every job as it was seen, in the order of submission; afterwards the history knows all of them."""
    replay = Replay(jobs)
    result = []
    for number, job in enumerate(replay.jobs):
        tell(history, replay, job.facts.submit)
        if number >= len(jobs) - MOST_LESSONS:
            result.append(Lesson(history.look(job.facts), job.facts, job.runtime_s))
    tell(history, replay, max((job.end for job in jobs), default=0) + 1)
    return result


def tell(history: RunHistory, replay: Replay, moment: int) -> None:
    """Bring a history up to a moment."""
    for ended, job in replay.until(moment):
        if ended:
            history.end(job)
        elif job.start is not None:
            history.start(job.id, job.facts, job.start)


def _batch(lessons: int) -> int:
    return min(max(lessons // BATCHES, SMALLEST), LARGEST)


def passes_for(lessons: int) -> int:
    """How often to go through so many lessons."""
    steps = -(-lessons // _batch(lessons))
    return min(max(-(-FEWEST_STEPS // max(steps, 1)), PASSES), MOST_PASSES)


def train(
    networks: Networks, history: RunHistory, taught: Sequence[Lesson], passes: int, rate: float = RATE
) -> None:
    """Go through the lessons several times, in an order that is always the same, with a rate that falls."""
    if len(taught) < FEWEST:
        return
    order = np.random.default_rng(1)
    size = _batch(len(taught))
    total = passes * (-(-len(taught) // size))
    done = 0
    for _ in range(passes):
        shuffled = order.permutation(len(taught))
        for first in range(0, len(taught), size):
            chosen = [taught[number] for number in shuffled[first : first + size]]
            truth = np.array([log_s(lesson.runtime_s) for lesson in chosen])
            atoms = atoms_of(history, [lesson.look for lesson in chosen])
            networks.learn(atoms, truth, rate * (1 - 0.9 * done / total))
            done += 1
