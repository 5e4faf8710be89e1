"""The jobs of one observation: squeue's table, and scontrol's details for the jobs that need them.

1. A row that is the same as last time is the same job: nothing is decoded again.
2. A new or changed row of a running job: its share is the remembered one while run and nodes are the same, else what
   squeue tells when that is exact (one node, every generic resource told), else asked of scontrol: once per run.
3. A new or changed row of a pending job: its shape comes from scontrol, once for all tasks of an array, and again now
   and then, because `scontrol update` can change what squeue does not show.
4. Few jobs are asked for one by one; many in one call for all.
5. A job that does not decode, or changes while it is being read, is a fault; it is read anew next time.
6. No more tasks of an array can be planned for than it lets run at a time (`arrays`).
"""

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from scheduler.adapters.slurm import arrays, details, jobs, rows
from scheduler.adapters.slurm.commands import Runner
from scheduler.adapters.slurm.details import AmbiguousTextError, Detail
from scheduler.adapters.slurm.errors import Meaning, SlurmOutputError, meaning_of, unavailable
from scheduler.adapters.slurm.rows import Row
from scheduler.adapters.slurm.shapes import Room
from scheduler.model.jobs import JobState, ObservedJob
from scheduler.model.resources import Amounts

REQUEST_S = 60
"""How long a pending job's shape is believed while its row stays the same."""
ONE_BY_ONE = 12
"""Up to so many jobs are asked for one by one; more in one call for all (5 ms each; 450 ms for all of 10,000)."""
REFRESHED = 4
"""At most so many shapes are asked for again in one observation."""


def squeue(runner: Runner, *more: str) -> list[str]:
    """The records of squeue. Raises `SlurmUnavailableError`; asking for jobs none of which is there gives none."""
    table = rows.Table.fresh()
    answer = runner.run("squeue", *table.arguments, *more)
    if answer.code != 0:
        if more and meaning_of(answer.err) is Meaning.NOT_FOUND:
            return []
        raise unavailable("squeue", answer.err)
    try:
        return table.records(answer.out)
    except ValueError as error:
        raise SlurmOutputError(str(error)) from error


def waiting(runner: Runner) -> frozenset[str]:
    """Ids of the jobs that wait, in Slurm's own short form. Raises `SlurmUnavailableError`."""
    answer = runner.run("squeue", "--noheader", "--all", "--local", "--states=PENDING", "--format=%i")
    if answer.code != 0:
        raise unavailable("squeue", answer.err)
    return frozenset(answer.out.split())


@dataclass(frozen=True, slots=True)
class _Known:
    """A pending job's detail, for which row it holds, and when it was read."""

    asked: tuple[str, ...]
    detail: Detail
    read_at: float


@dataclass(slots=True)
class _New:
    """A row to be made into a job; `alloc` is None when scontrol has to be asked for it."""

    record: str
    row: Row
    state: JobState
    alloc: dict[str, Amounts] | None = None


@dataclass(slots=True)
class Queue:
    """Reads all jobs, remembering what need not be read again. One thread at a time."""

    runner: Runner
    clock: Callable[[], float] = time.time
    _records: dict[str, ObservedJob] = field(default_factory=dict, init=False)
    _holders: dict[str, ObservedJob] = field(default_factory=dict, init=False)
    _known: dict[str, _Known] = field(default_factory=dict, init=False)
    _throttles: dict[str, int] = field(default_factory=dict, init=False)

    def forget(self) -> None:
        """Read everything anew (the cluster is made of something else now)."""
        self._records, self._known = {}, {}

    def read(self, room: Room) -> tuple[list[ObservedJob], list[str]]:
        """All jobs that have not ended, and the faults. Raises `SlurmUnavailableError`."""
        known = self._records
        faults: list[str] = []
        stale = self._stale()
        kept: dict[str, ObservedJob] = {}
        fresh: list[str] = []
        for record in squeue(self.runner):
            job = known.get(record)
            if job is None or job.id in stale:
                fresh.append(record)
            else:
                kept[record] = job
        new = [entry for record in fresh if (entry := self._opened(record, room, faults))]
        found = self._details([entry.row for entry in new if self._lacks_detail(entry)], faults)
        for entry in new:
            self._finish(entry, found.get(entry.row.raw_id), room, kept, faults)
        self._remember(kept)
        if len({job.id for job in kept.values()}) != len(kept):
            faults.append("squeue tells of the same job twice")
        return arrays.throttled(list(kept.values()), self._throttles), faults

    # --- the steps ---

    def _stale(self) -> frozenset[str]:
        """Ids of pending jobs whose shape is to be asked for again: the oldest few. Their shape is forgotten."""
        now = self.clock()
        old = sorted(
            (k.read_at, raw) for raw, k in self._known.items() if not 0 <= now - k.read_at < REQUEST_S
        )
        raws = {raw for _, raw in old[:REFRESHED]}
        for raw in raws:
            del self._known[raw]
        if not raws:
            return frozenset()
        waiting = (job for job in self._records.values() if job.state is JobState.PENDING)
        return frozenset(job.id for job in waiting if job.id in raws or job.array_job_id in raws)

    def _opened(self, record: str, room: Room, faults: list[str]) -> _New | None:
        """A record decoded as far as it goes without scontrol; None for an ended or undecodable one."""
        try:
            row = rows.decode(record)
            state = jobs.state_of(row)
            if state is None:
                return None
            new = _New(record, row, state)
            if state is not JobState.PENDING:
                before = self._holders.get(row.id)
                new.alloc = jobs.remembered_alloc(row, before) or jobs.plain_alloc(row, room)
        except ValueError as error:
            faults.append(f"{rows.name_of(record)} does not decode: {error}")
            return None
        return new

    def _lacks_detail(self, entry: _New) -> bool:
        if entry.state is not JobState.PENDING:
            return entry.alloc is None
        known = self._known.get(entry.row.raw_id)
        return known is None or known.asked != entry.row.asked

    def _details(self, wanted: Iterable[Row], faults: list[str]) -> dict[str, Detail]:
        """scontrol's details by the jobs' own numbers; a job that is not there any more is left out."""
        left = {row.raw_id: row for row in wanted}
        found: dict[str, Detail] = {}
        if len(left) > ONE_BY_ONE:
            text = self._scontrol()
            places = details.places(text)
            for row in list(left.values()):
                self._one(row, faults, found, lambda row: details.find(text, row, places.get(row.raw_id, ())))
            # Imitated, or changed between the two calls: rare, so a few more are worth their calls.
            left = {raw: row for raw, row in left.items() if raw not in found}
        for row in list(left.values())[:ONE_BY_ONE]:
            self._one(row, faults, found, lambda row: details.find_alone(self._scontrol(row.id), row))
        return found

    def _one(
        self,
        row: Row,
        faults: list[str],
        found: dict[str, Detail],
        search: Callable[[Row], Detail | None],
    ) -> None:
        try:
            detail = search(row)
        except AmbiguousTextError:
            return
        except ValueError as error:
            faults.append(f"job {row.id} does not decode: {error}")
            return
        if detail is not None:
            found[row.raw_id] = detail

    def _scontrol(self, *job_id: str) -> str:
        answer = self.runner.run("scontrol", "--oneliner", "--details", "--all", "show", "job", *job_id)
        if answer.code == 0:
            return answer.out
        if job_id and meaning_of(answer.err) is Meaning.NOT_FOUND:
            return ""
        raise unavailable("scontrol show job", answer.err)

    def _finish(
        self, entry: _New, detail: Detail | None, room: Room, kept: dict[str, ObservedJob], faults: list[str]
    ) -> None:
        """Make the job; a job that cannot be made is a fault."""
        row = entry.row
        try:
            if entry.state is JobState.PENDING:
                shape = self._shape(row, detail)
                kept[entry.record] = jobs.pending(row, shape, room)
                if row.array_id:
                    self._throttles[row.array_id] = shape.throttle
            else:
                alloc = entry.alloc
                if alloc is None:
                    alloc = jobs.granted_alloc(row, _there(detail), room)
                kept[entry.record] = jobs.running(row, entry.state, alloc)
        except ValueError as error:
            faults.append(f"job {row.id}: {error}")

    def _shape(self, row: Row, detail: Detail | None) -> Detail:
        known = self._known.get(row.raw_id)
        if detail is None and known is not None and known.asked == row.asked:
            return known.detail
        self._known[row.raw_id] = _Known(row.asked, _there(detail), self.clock())
        return self._known[row.raw_id].detail

    def _remember(self, kept: dict[str, ObservedJob]) -> None:
        self._records = kept
        self._holders = {job.id: job for job in kept.values() if job.alloc}
        self._throttles = {
            array: self._throttles[array]
            for array in {job.array_job_id for job in kept.values()}
            if self._throttles.get(array)
        }
        if self._known:
            waiting = [job for job in kept.values() if job.state is JobState.PENDING]
            present = {raw for job in waiting for raw in (job.id, job.array_job_id)}
            self._known = {raw: known for raw, known in self._known.items() if raw in present}


def _there(detail: Detail | None) -> Detail:
    if detail is None:
        raise ValueError("it changed while it was being read")
    return detail
