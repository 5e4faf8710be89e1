"""Letting held jobs go on: at once, and where wished at a place in line from the first moment.

First Slurm's own delay after a requeue is shortened, then the job is released: the other way round it would be waited
out. A begin time that somebody has set stays. Slurm's is not shortened to nothing: slurmd refuses a job that starts in
the very second in which it was stopped ("Job credential revoked"), and slurmctld then ends it for good. A requeued
job's submit time is that of its return to the queue, by slurmctld's own clock; the next second is safe. A moment in the
past is as good as now.

With a place it is the other way round: Slurm sets none on a held job, so the job is released while its delay still
keeps it from starting, then gets its place in line and its begin time in one call. A place by nice needs a look in
between: only then is it known what Slurm computes for the job.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Protocol

from scheduler.adapters.slurm.errors import SlurmUnavailableError, shortened
from scheduler.adapters.slurm.holds import REQUEUE_DELAY_S, is_delayed
from scheduler.adapters.slurm.look import LookResult
from scheduler.adapters.slurm.rows import QueueRow
from scheduler.model.actions import BY_NICE, MOST_NICE, ActionOutcome, OutcomeKind
from scheduler.model.line import unniced

DONE = ActionOutcome(OutcomeKind.DONE)


class Many(Protocol):
    """One command for many jobs, with an outcome for each (`write.Writer`)."""

    def __call__(
        self, program: str, ids: Sequence[str], verb: str, *, each: str = "", more: Sequence[str] = ()
    ) -> dict[str, ActionOutcome]: ...


@dataclass(frozen=True, slots=True)
class Releasing:
    """One group of releases: all plain, all to one priority, or each to its own by nice."""

    many: Many
    look: Callable[[Sequence[str]], LookResult[QueueRow]]
    now: Callable[[], float]
    delay_s: int = REQUEUE_DELAY_S

    def release(self, wanted: Mapping[str, str], seen: Mapping[str, QueueRow]) -> dict[str, ActionOutcome]:
        """Release jobs, each with the value of its action."""
        ids = list(wanted)
        delayed = [job_id for job_id in ids if is_delayed(seen[job_id], self.delay_s)]
        held = [job_id for job_id in ids if seen[job_id].priority == 0]
        # No later than Slurm's own delay would end: a begin time that was misread must not hold anybody for longer.
        returned = min(max((seen[i].submit for i in delayed), default=0), int(self.now()) + self.delay_s)
        begin = f"StartTime={datetime.fromtimestamp(returned + 1, UTC):%FT%T}"
        value = wanted[ids[0]]
        if value:
            done = {**dict.fromkeys(ids, DONE), **self.many("scontrol", held, "release")}
            ready = [job_id for job_id in ids if done[job_id].ok]
            if value.startswith(BY_NICE):
                return {**done, **self._by_nice(ready, wanted, frozenset(delayed), begin)}
            return {**done, **self._begin(ready, f"Priority={value}", frozenset(delayed), begin)}
        begun = self.many("scontrol", delayed, "update", each="JobId=", more=(begin,))
        free = [job_id for job_id in held if begun.get(job_id, DONE).ok]
        released = self.many("scontrol", free, "release")
        return {job_id: released.get(job_id, begun.get(job_id, DONE)) for job_id in ids}

    def _by_nice(
        self, ids: Sequence[str], wanted: Mapping[str, str], delayed: frozenset[str], begin: str
    ) -> dict[str, ActionOutcome]:
        try:
            seen = self.look(ids)
        except SlurmUnavailableError as error:
            return dict.fromkeys(ids, ActionOutcome(OutcomeKind.UNKNOWN, shortened(str(error))))
        done: dict[str, ActionOutcome] = {}
        by_nice: dict[int, list[str]] = {}
        for job_id in ids:
            row = seen.jobs.get(job_id)
            if row is None or row.priority == 0:
                done[job_id] = ActionOutcome(
                    OutcomeKind.UNKNOWN, "it was let go and is not seen to be; look again"
                )
            else:
                nice = unniced(row.priority, row.nice) - int(wanted[job_id].removeprefix(BY_NICE))
                by_nice.setdefault(max(-MOST_NICE, min(nice, MOST_NICE)), []).append(job_id)
        for nice, some in by_nice.items():
            done.update(self._begin(some, f"Nice={nice}", delayed, begin))
        return done

    def _begin(
        self, ids: Sequence[str], place: str, delayed: frozenset[str], begin: str
    ) -> dict[str, ActionOutcome]:
        """Give jobs their place, and a new begin time to those that Slurm delays."""
        done: dict[str, ActionOutcome] = {}
        for shortened_too in (True, False):
            some = [job_id for job_id in ids if (job_id in delayed) is shortened_too]
            more = (place, begin) if shortened_too else (place,)
            done.update(self.many("scontrol", some, "update", each="JobId=", more=more))
        return done
