"""The jobs of one observation: squeue's table, and scontrol's details for the jobs that need them.

1. A row that is the same as last time is the same job: nothing is decoded again.
2. A new or changed row of a running job: its share is the remembered one while run and nodes are the same, else what
   squeue tells when that is exact (one node, every generic resource told), else asked of scontrol: once per run.
3. A new or changed row of a pending job: its shape comes from scontrol, once for all tasks of an array, and again now
   and then, because `scontrol update` can change what squeue does not show.
4. Few jobs are asked for one by one; many in one call for all (`asking`).
5. Whatever is told of one job, only that job is affected. What is not understood of it is said in words: one that waits
   is not planned for, one that holds something is protected, and what is not told of its share is `Untold`. It is read
   anew now and then; one that changed while it was being read, the next time.
6. No more tasks of an array can be planned for than it lets run at a time (`arrays`).
"""

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from scheduler.adapters.slurm import arrays, details, jobs, reasons, rows, values
from scheduler.adapters.slurm.commands import CommandRunner
from scheduler.adapters.slurm.details import AmbiguousTextError, Detail, JobDetails
from scheduler.adapters.slurm.errors import Meaning, SlurmOutputError, meaning_of, unavailable
from scheduler.adapters.slurm.rows import QueueRow
from scheduler.adapters.slurm.shapes import ClusterShape
from scheduler.adapters.slurm.untold import Untold, left_of
from scheduler.model.jobs import JobState, ObservedJob
from scheduler.model.resources import Amounts

# --- scontrol asked about the jobs that squeue does not tell exactly: few one by one, many in one call for all.


ONE_BY_ONE = 12
"""Up to so many jobs are asked for one by one; more in one call for all (5 ms each; 450 ms for all of 10,000)."""
FEW = 500
"""Where the whole queue is no longer, one call for all is cheaper from the second job on: it is two requests, and one
for a job is three."""


def texts(runner: CommandRunner, wanted: Iterable[QueueRow], queue: int) -> dict[str, JobDetails]:
    """What scontrol says of these jobs, by their own numbers; a job that is not there any more is left out.

    `queue`: how many jobs there are in all. Raises `SlurmUnavailableError`.
    """
    left = {row.raw_id: row for row in wanted}
    found: dict[str, JobDetails] = {}
    if len(left) > (1 if queue <= FEW else ONE_BY_ONE):
        text = _scontrol(runner)
        places = details.places(text)
        for row in left.values():
            _keep(found, row, lambda row: details.find(text, row, places.get(row.raw_id, ())))
        # Imitated, or changed between the two calls: rare, so a few more are worth their calls.
        left = {raw: row for raw, row in left.items() if raw not in found}
    for row in list(left.values())[:ONE_BY_ONE]:
        _keep(found, row, lambda row: details.find_alone(_scontrol(runner, row.id), row))
    return found


def _keep(
    found: dict[str, JobDetails], row: QueueRow, search: Callable[[QueueRow], JobDetails | None]
) -> None:
    try:
        text = search(row)
    except AmbiguousTextError:
        return
    if text is not None:
        found[row.raw_id] = text


def _scontrol(runner: CommandRunner, *job_id: str) -> str:
    answer = runner.run("scontrol", "--oneliner", "--details", "--all", "show", "job", *job_id)
    if answer.code == 0:
        return answer.out
    if job_id and meaning_of(answer.err) is Meaning.NOT_FOUND:
        return ""
    raise unavailable("scontrol show job", answer.err)


# --- Nodes that a job keeps for its user: `--exclusive=user` and `=mcs`, and partitions whose jobs are all so.
# Slurm tells of such a job only what it asked for, and gives the rest of its nodes to nobody but its user. Until the
# last such job on a node has ended nobody else gets anything there, whoever else of that user goes. So each of them
# counts as holding the whole node: where there are several, or others of its user beside one, more is held than there
# is.
#
# Tried on 22.05.8, 24.11.5 and 26.05.5.


def whole(job: ObservedJob, totals: Mapping[str, Amounts]) -> dict[str, Amounts]:
    """What such a job holds. Of one that is suspended Slurm gives the CPUs to others; a node that it has as a whole is
    told as such."""
    return {name: _whole(share, totals.get(name, share)) for name, share in job.alloc.items()}


def _whole(share: Amounts, total: Amounts) -> Amounts:
    return total if 0 < share.get("cpu", 0) < total.get("cpu", 0) else share


# --- squeue's table of jobs ---


def squeue(runner: CommandRunner) -> list[str]:
    """The records of squeue. Raises `SlurmUnavailableError`."""
    table = rows.Table.fresh()
    out = runner.ask("squeue", *table.arguments)
    try:
        return table.records(out)
    except ValueError as error:
        raise SlurmOutputError(str(error)) from error


REQUEST_S = 60
"""How long a pending job's shape is believed while its row stays the same, or a job stays not understood."""
REFRESHED = 4
"""At most so many shapes are asked for again in one observation."""
CHANGED = "it changed while it was being read"
MANY_USERS = 3
"""Jobs of so many users have to be odd before the whole answer is not believed: one user's never switch us off."""
# What one job's texts can raise, however they were garbled.
ODD = (ValueError, LookupError, ArithmeticError)


@dataclass(frozen=True, slots=True)
class Reading:
    """All jobs that have not ended. `untold`: shares that nobody tells. `faults`: why not all of it can be believed."""

    jobs: list[ObservedJob]
    untold: list[Untold]
    faults: list[str]


@dataclass(frozen=True, slots=True)
class _Known:
    """A pending job's detail, for which row it holds, and when it was read."""

    asked: tuple[str, ...]
    detail: Detail
    read_at: float


@dataclass(frozen=True, slots=True)
class _Kept:
    """A job as it was made of its row. `odd`: what of it was not understood; then it is made anew from `again` on.
    `owns`: it keeps its nodes for its user."""

    job: ObservedJob
    odd: str = ""
    again: float = 0.0
    untold: Untold | None = None
    owns: bool = False


@dataclass(slots=True)
class _New:
    """A row to be made into a job; `alloc` is None when scontrol has to be asked for it. `odd`: as `Row.odd`."""

    record: str
    row: QueueRow
    state: JobState
    odd: str = ""
    alloc: dict[str, Amounts] | None = None


@dataclass(slots=True)
class QueueReader:
    """Reads all jobs, remembering what need not be read again. One thread at a time."""

    runner: CommandRunner
    clock: Callable[[], float] = time.time
    _records: dict[str, _Kept] = field(default_factory=dict, init=False)
    _holders: dict[str, ObservedJob] = field(default_factory=dict, init=False)
    _known: dict[str, _Known] = field(default_factory=dict, init=False)
    _throttles: dict[str, int] = field(default_factory=dict, init=False)
    _codes: reasons.Codes = field(init=False)

    def __post_init__(self) -> None:
        self._codes = reasons.Codes(self.runner)

    def forget(self) -> None:
        """Read everything anew (the cluster is made of something else now)."""
        self._records, self._known = {}, {}

    def read(self, room: ClusterShape) -> Reading:
        """All jobs that have not ended. Raises `SlurmUnavailableError`."""
        known = self._records
        faults: list[str] = []
        stale, now = self._stale(), self.clock()
        kept: dict[str, _Kept] = {}
        fresh: list[str] = []
        for record in squeue(self.runner):
            one = known.get(record)
            if one is None or (one.odd and one.again <= now) or one.job.id in stale:
                fresh.append(record)
            else:
                kept[record] = one
        new = [entry for record in fresh if (entry := self._opened(record, room, faults))]
        found = texts(
            self.runner, [entry.row for entry in new if self._lacks_detail(entry)], len(kept) + len(new)
        )
        for entry in new:
            kept[entry.record] = self._made(entry, found.get(entry.row.raw_id), room)
        self._add_codes(new, kept)
        self._remember(kept)
        if len({one.job.id for one in kept.values()}) != len(kept):
            faults.append("squeue tells of the same job twice")
        faults.extend(_most_are_odd(list(kept.values())))
        told = arrays.throttled([_told(one, room) for one in kept.values()], self._throttles)
        return Reading(told, [one.untold for one in kept.values() if one.untold], faults)

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
        pending = (one.job for one in self._records.values() if one.job.state is JobState.PENDING)
        return frozenset(job.id for job in pending if job.id in raws or job.array_job_id in raws)

    def _opened(self, record: str, room: ClusterShape, faults: list[str]) -> _New | None:
        """A record decoded as far as it goes without scontrol; None for an ended job, or one that is not named."""
        try:
            row = rows.decode(record)
        except ODD:
            salvaged = rows.salvage(record)
            if salvaged is None:
                # Any job that is missing now may be this one.
                faults.append("squeue tells of a job without its id")
                return None
            row = salvaged
        state, odd = jobs.state_as_told(row)
        if state is None:
            return None
        new = _New(record, row, state, odd)
        if state is not JobState.PENDING:
            new.alloc = _told_alloc(row, self._holders.get(row.id), room)
        return new

    def _lacks_detail(self, entry: _New) -> bool:
        if entry.row.odd:
            return False
        if entry.state is not JobState.PENDING:
            return entry.alloc is None
        known = self._known.get(entry.row.raw_id)
        return known is None or known.asked != entry.row.asked

    def _made(self, entry: _New, text: JobDetails | None, room: ClusterShape) -> _Kept:
        """The job of a row, whatever is understood of it."""
        made = self._waits if entry.state is JobState.PENDING else self._holds
        kept = made(entry, text, room)
        if kept.job.partitions:
            return kept
        # Shown wherever it can be.
        there = kept.untold.nodes if kept.untold else ()
        places = {
            name for name, nodes in room.of_partition.items() if not there or not set(nodes).isdisjoint(there)
        }
        return replace(kept, job=replace(kept.job, partitions=tuple(sorted(places))))

    def _waits(self, entry: _New, text: JobDetails | None, room: ClusterShape) -> _Kept:
        row = entry.row
        later = self.clock() + REQUEST_S
        if entry.odd:
            return _Kept(jobs.waiting(row, entry.odd, of_its_row=True), entry.odd, later)
        try:
            shape = self._shape(row, text)
            if shape is None:
                return _Kept(jobs.waiting(row, CHANGED), CHANGED)
            job = jobs.pending(row, shape, room)
        except ODD as error:
            return _Kept(jobs.waiting(row, str(error)), str(error), later)
        if row.array_id:
            self._throttles[row.array_id] = shape.throttle
        return _Kept(job)

    def _holds(self, entry: _New, text: JobDetails | None, room: ClusterShape) -> _Kept:
        row, odd, alloc = entry.row, entry.odd, entry.alloc
        again = self.clock() + REQUEST_S
        if alloc is None and not row.odd and text is None:
            odd, again = odd or CHANGED, 0.0
        limits = granted = None
        try:
            granted = details.granted(text) if text is not None else None
            if alloc is None and granted is not None:
                alloc = jobs.granted_alloc(row, granted, room)
            limits = jobs.limits_of(row, granted, self._holders.get(row.id))
        except ODD as error:
            odd = odd or str(error)
        alloc = alloc or {}
        names = _names(row)
        missing = None if names is None else tuple(name for name in names if name not in alloc)
        if missing is None or (not names and entry.state is JobState.RUNNING):
            odd, missing = odd or "its nodes are not told", None
        elif missing:
            odd = odd or f"its share of {missing[0]} is not told"
        inner = jobs.inner_of(row, granted, alloc, self._holders.get(row.id), room)
        job = replace(jobs.running(row, entry.state, alloc, odd, limits), inner=inner)
        untold = None if missing == () else Untold(missing, left_of(row, alloc))
        not_understood = job.not_understood
        if room.shares_cpus(row):
            # What it holds others may hold too: that it goes frees nothing that is known.
            job = replace(
                job, not_understood=not_understood or "it shares its CPUs with other jobs (OverSubscribe=YES)"
            )
        return _Kept(job, not_understood, again, untold, owns=room.keeps_nodes(row))

    def _add_codes(self, new: Sequence[_New], kept: dict[str, _Kept]) -> None:
        """Give the jobs whose reason is a text its code; those that are held wait anyway."""
        odd = [
            entry
            for entry in new
            if entry.state is JobState.PENDING and entry.row.priority and reasons.is_text(entry.row.reason)
        ]
        found = self._codes.of({entry.row.raw_id: entry.row.reason for entry in odd}, self.clock())
        for entry in odd:
            one = kept[entry.record]
            kept[entry.record] = replace(
                one, job=replace(one.job, reason_code=found.get(entry.row.raw_id, ""))
            )

    def _shape(self, row: QueueRow, text: JobDetails | None) -> Detail | None:
        known = self._known.get(row.raw_id)
        if known is not None and known.asked == row.asked:
            return known.detail
        if text is None:
            return None
        self._known[row.raw_id] = _Known(row.asked, details.wishes(text), self.clock())
        return self._known[row.raw_id].detail

    def _remember(self, kept: dict[str, _Kept]) -> None:
        self._records = kept
        self._holders = {
            one.job.id: one.job for one in kept.values() if one.job.alloc and not one.job.not_understood
        }
        self._throttles = {
            array: self._throttles[array]
            for array in {one.job.array_job_id for one in kept.values()}
            if self._throttles.get(array)
        }
        if self._known:
            waiting = [one.job for one in kept.values() if one.job.state is JobState.PENDING]
            present = {raw for job in waiting for raw in (job.id, job.array_job_id)}
            self._known = {raw: known for raw, known in self._known.items() if raw in present}


def _told(one: _Kept, room: ClusterShape) -> ObservedJob:
    """The job as it is told; it is remembered with what Slurm says it holds."""
    if not one.owns:
        return one.job
    cards = {name: room.layouts[name].cards for name in one.job.alloc if name in room.layouts}
    inner = {name: known.inner for name, known in cards.items() if known}
    return replace(one.job, alloc=whole(one.job, room.totals), inner=inner)


def _told_alloc(row: QueueRow, before: ObservedJob | None, room: ClusterShape) -> dict[str, Amounts] | None:
    """The share as far as it is known without scontrol."""
    try:
        return jobs.remembered_alloc(row, before) or jobs.plain_alloc(row, room)
    except ODD:
        return None


def _names(row: QueueRow) -> tuple[str, ...] | None:
    """The nodes that the job is on; None when they are not told."""
    try:
        return None if row.odd and not row.node_list else values.nodes(row.node_list)
    except ValueError:
        return None


def _most_are_odd(all_jobs: Sequence[_Kept]) -> Iterator[str]:
    """Why the answer as a whole is not to be believed: most jobs, of most users, are not understood."""
    odd = [one for one in all_jobs if one.odd]
    users = {one.job.user for one in odd}
    if len(users) < MANY_USERS or 2 * len(odd) <= len(all_jobs):
        return
    if 2 * len(users) > len({one.job.user for one in all_jobs}):
        yield f"most jobs are not understood; of job {odd[0].job.id}: {odd[0].odd[:120]}"
