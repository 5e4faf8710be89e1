"""From ended jobs to a trained network: the past is played again, and each job seen as at its submission."""

import heapq
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from scheduler.forecast.facts import EndedJob, JobFacts
from scheduler.forecast.features import atoms_of
from scheduler.forecast.history import PastView, RunHistory, log_s
from scheduler.forecast.weighing import RATE, Networks

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
