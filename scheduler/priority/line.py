"""Slurm's line by levels: the nice that puts each waiting job where its partition's mode wants it. Pure.

1. Each pair of levels that the mode tells apart is a band; a job without a level is in the last one. All nices of a
   band share an offset. Offsets of neighbours differ by a width that is several times what Slurm's own priorities span,
   so no job leaves its band, and neither age nor fair share make an offset change.
2. Inside a band a job stands where Slurm's own priority puts it, less its user's own nice (cut off at a part of the
   width).
3. Bands are raised above the last one; where there is no room above (priority/basic counts down from near the top),
   they are put below the first one.
4. A job that was stopped, or put first for a while, keeps its place: before all of its band that came after its first
   submission, and no lower than the priority that it had.
5. A nice that does this already stays as it is.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from scheduler.model.actions import MOST_NICE
from scheduler.model.jobs import Level
from scheduler.model.line import LOWEST, unniced
from scheduler.model.policy import Mode
from scheduler.priority.order import NaturalKey, natural

WIDTH = 1 << 24
"""Between two bands, unless Slurm's priorities span more than a quarter of it or there are too many bands."""
REACH = (1 << 31) - (1 << 25)
"""From the first band to the last one: a nice goes as far, and a user's own still fits in."""
CEILING = 4_294_900_000
"""Up to here jobs are raised. Slurm's priority/basic begins above, and so do those that Giveway puts first."""


@dataclass(frozen=True, slots=True)
class Waiting:
    """A waiting job as the line knows it.

    `band`: 0 the first. `priority`, `nice`: as seen. `own_nice`: what of the nice is its user's. `since`: when it was
    first submitted. `kept`: Slurm's priority without any nice, from before it was stopped or put first. `held`: it
    stands nowhere; only where it goes when it is let go is of interest.
    """

    id: str
    band: int
    priority: int
    nice: int
    since: int
    own_nice: int = 0
    kept: int | None = None
    held: bool = False


@dataclass(frozen=True, slots=True)
class PlaceInLine:
    """Where a job stands (1 the first; 0: it is held), and the whole nice and the priority that put it there.

    `own`: the priority that Slurm would give it, with its user's own nice. `keeps`: its old place is kept for it.
    """

    number: int
    nice: int
    priority: int
    own: int
    keeps: bool = False


def bands(mode: Mode, levels: int) -> int:
    """How many bands a mode makes of so many levels."""
    two = mode in {Mode.USER_THEN_TASK, Mode.TASK_THEN_USER}
    return (levels + 1) ** (2 if two else 1)


def band(mode: Mode, levels: int, user: Level, task: Level) -> int:
    """The band of a job with these levels, 0 the first."""
    axes = [levels if level is None else min(level, levels) for level in (user, task)]
    match mode:
        case Mode.USER:
            return axes[0]
        case Mode.TASK:
            return axes[1]
        case Mode.USER_THEN_TASK:
            return axes[0] * (levels + 1) + axes[1]
        case Mode.TASK_THEN_USER:
            return axes[1] * (levels + 1) + axes[0]


def stand(jobs: Sequence[Waiting], count: int) -> dict[str, PlaceInLine]:
    """Where each job is to stand, by its id. `count`: how many bands there are; with one, only kept places matter."""
    figures = _figures(jobs)
    grid = _Grid.over(jobs, figures, count)
    by_band: dict[int, list[Waiting]] = {}
    for job in jobs:
        by_band.setdefault(job.band, []).append(job)
    values: dict[str, int] = {}
    for members in by_band.values():
        values.update(_values(members, figures, grid))
    line = sorted(
        (job for job in jobs if not job.held),
        key=lambda job: (job.band, -values[job.id], job.since, natural(job.id)),
    )
    numbers = {job.id: number for number, job in enumerate(line, start=1)}
    return {
        job.id: _place(job, numbers.get(job.id, 0), figures[job.id], values[job.id], grid) for job in jobs
    }


def _place(job: Waiting, number: int, figure: int, value: int, grid: "_Grid") -> PlaceInLine:
    offset, own = grid.offset(job.band), grid.cut(job.own_nice)
    nice = offset + own - (value - (figure - own))
    return PlaceInLine(
        number,
        max(-MOST_NICE, min(nice, MOST_NICE)),
        value - offset,
        figure - own,
        keeps=job.kept is not None,
    )


def _figures(jobs: Sequence[Waiting]) -> dict[str, int]:
    """What Slurm gives each job without a nice; of one that is held, or was cut off, it is taken for the least."""
    known = {job.id: unniced(job.priority, job.nice) for job in jobs if not (job.held or _is_cut_off(job))}
    least = min(known.values(), default=0)
    return {job.id: known.get(job.id, least) for job in jobs}


def _is_cut_off(job: Waiting) -> bool:
    return job.priority <= LOWEST and job.nice > 0


@dataclass(frozen=True, slots=True)
class _Grid:
    """Where the bands are: `width` apart, raised or not; `index` is a band's number among those that count."""

    width: int
    index: Mapping[int, int]
    last: int
    raised: bool

    @classmethod
    def over(cls, jobs: Sequence[Waiting], figures: Mapping[str, int], count: int) -> "_Grid":
        seen = [*figures.values(), *(job.kept for job in jobs if job.kept is not None)]
        low, high = min(seen, default=0), max(seen, default=0)
        index = {number: number for number in range(count)}
        width = min(WIDTH, _power(REACH // count))
        needed = 4 * (high - low + 1)
        if needed > width and count > 1:
            # Bands in which nobody waits take no room then.
            index = {number: place for place, number in enumerate(sorted({job.band for job in jobs}))}
            width = min(2 * _power(needed), _power(REACH // max(len(index), 1)))
        last = max(index.values(), default=0)
        return cls(width, index, last, raised=high + width * (last + 1) < CEILING)

    def offset(self, number: int) -> int:
        """The nice of a band."""
        place = self.index.get(number, self.last)
        return self.width * (place - self.last if self.raised else place)

    def cut(self, own_nice: int) -> int:
        """A user's own nice, so far that the job stays in its band."""
        most = self.width // 4 if self.last else MOST_NICE
        return max(-most, min(own_nice, most))


def _power(number: int) -> int:
    """The largest power of two that is not above a number from 1 on."""
    return 1 << (number.bit_length() - 1)


def _values(members: Sequence[Waiting], figures: Mapping[str, int], grid: _Grid) -> dict[str, int]:
    """What the jobs of one band sort by: Slurm's figure less their own nice, and more where a place is kept."""
    values = {job.id: figures[job.id] - grid.cut(job.own_nice) for job in members}
    standing = {job.id: job for job in members if job.kept is None and not job.held}
    # The last one first, so that those of them who came earlier stand before it.
    for job in sorted(members, key=_came, reverse=True):
        if job.kept is None:
            continue
        least = max(values[job.id], job.kept - grid.cut(job.own_nice))
        behind = (values[other.id] for other in standing.values() if _came(other) > _came(job))
        wanted = max(least, max(behind, default=least - 1) + 1)
        values[job.id] = _as_it_is(job, wanted, values, standing, grid)
        standing[job.id] = job
    return values


def _as_it_is(
    job: Waiting, wanted: int, values: Mapping[str, int], standing: Iterable[str], grid: _Grid
) -> int:
    """The value that its present nice gives the job, if that puts it behind the same jobs; else the one wanted."""
    present = values[job.id] + grid.offset(job.band) + grid.cut(job.own_nice) - job.nice
    if job.held or abs(present - wanted) > grid.width // 8:
        return wanted
    others = [values[other] for other in standing]
    before = [sum(value >= mine for value in others) for mine in (present, wanted)]
    return present if before[0] == before[1] and present >= values[job.id] else wanted


def _came(job: Waiting) -> tuple[int, NaturalKey]:
    return job.since, natural(job.id)
