"""Every decision in one or two plain sentences, with the numbers (contract A, `explain`)."""

from collections.abc import Iterable, Iterator, Mapping

from scheduler.model import words
from scheduler.model.jobs import Level, Request, SnapshotJob
from scheduler.model.policy import Mode
from scheduler.model.reasons import Reason
from scheduler.model.resources import Amounts
from scheduler.model.snapshot import Snapshot
from scheduler.preemption.limits import Found, HeldBack
from scheduler.preemption.node_state import RunningJob
from scheduler.preemption.quotas import JOBS, Beyond
from scheduler.preemption.shapes import Shape
from scheduler.preemption.tallies import Below
from scheduler.priority.levels import level_word

_LONGEST = 60


class ExplanationWriter:
    """Talks about one snapshot's jobs."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._now = snapshot.now
        self._rules = snapshot.partition
        self._levels: dict[tuple[Level, Level], str] = {}

    def level(self, job: SnapshotJob) -> str:
        """The levels that the partition's mode looks at; many jobs have the same."""
        levels = job.user_level, job.task_level
        known = self._levels.get(levels)
        if known is None:
            known = self._levels[levels] = self._level(job)
        return known

    def _level(self, job: SnapshotJob) -> str:
        names = self._rules.level_names
        user = level_word(job.user_level, names)
        task = f"task {level_word(job.task_level, names, 'L')}"
        match self._rules.mode:
            case Mode.USER:
                return user
            case Mode.TASK:
                return task
            case _:
                return f"{user}, {task}"

    def who(self, job: SnapshotJob) -> str:
        """`102 (bob, P1)`."""
        return f"{clean(job.id)} ({clean(job.user)}, {self.level(job)})"

    def victim(self, runner: RunningJob) -> str:
        """`101 (ann, P2, ran 2 h 14 min)`."""
        job = runner.job
        return f"{clean(job.id)} ({clean(job.user)}, {self.level(job)}, ran {words.duration(runner.ran)})"

    def needs(self, job: SnapshotJob) -> str:
        """`102 (bob, P1) needs 6 cpu on one node`."""
        return f"{self.who(job)} needs {need(job.request)}" if job.request else self.who(job)

    def start(self, job: SnapshotJob, nodes: Iterable[str], free: Amounts) -> str:
        """There is room."""
        return f"{self.needs(job)}; {free_now(job, nodes, free)}."

    def wait(self, job: SnapshotJob, nodes: Iterable[str]) -> str:
        """Room is coming by itself."""
        return f"{self.needs(job)}. Jobs that are ending already make room for it on {_names(nodes)}."

    def promised(self, job: SnapshotJob) -> str:
        """A plan is being carried out."""
        return f"Room for {self.who(job)} is being made on {_names(job.promised)}."

    def preempt(
        self, job: SnapshotJob, nodes: Iterable[str], free: Amounts, victims: Iterable[RunningJob]
    ) -> str:
        """Victims make room."""
        stopped = words.told(victims, self.victim, limit=5)
        return f"{self.needs(job)}; {free_now(job, nodes, free)}. Stopping {stopped} makes room on {_names(nodes)}."

    def held(self, job: SnapshotJob, found: Found, free: Amounts) -> str:
        """Victims would make room, but may not be stopped."""
        victims = found.room.price.victims[::-1]
        stopped = words.told(victims, self.victim, limit=5)
        nodes = [place.node.name for place in found.room.places]
        where = f" on {_names(nodes)}" if nodes else ""
        why = self.limit(job, found.held, len(victims)) if found.held else ""
        return f"{self.needs(job)}; {free_now(job, nodes, free)}. Stopping {stopped} would make room{where}, but {why}."

    def limit(self, job: SnapshotJob, held: HeldBack, victims: int) -> str:
        """The limit that holds stops back."""
        rules = self._rules
        match held.reason:
            case Reason.PAUSED:
                return clean(rules.paused, 200)
            case Reason.CRASHES:
                return (
                    f"it ended badly within a minute of its start {job.crashes} times in an hour: others are stopped "
                    f"for it again once it has run well, or is submitted anew"
                )
            case Reason.TOO_SOON:
                left = words.duration(rules.min_wait_s - (self._now - job.submit))
                enough = words.duration(rules.min_wait_s)
                return (
                    f"it has to wait {left} more: others are stopped only for a job that has waited {enough}"
                )
            case Reason.COOL_DOWN:
                ago = self._now - (job.stopped_at or 0)
                left = words.duration(rules.cool_down_s - ago)
                return f"it was stopped itself {words.duration(ago)} ago: others are not stopped for it for {left} yet"
            case Reason.HOURLY_LIMIT:
                return self._hourly(held, victims)
            case _:
                return f"some of them would come back ranked above {clean(job.id)}"

    def _hourly(self, held: HeldBack, victims: int) -> str:
        """`x has had 5 of 5 stops in this hour`."""
        most = self._rules.max_stops_per_user_hour if held.user else self._rules.max_stops_per_hour
        if held.user:
            had = f"jobs of {clean(held.user)} were stopped {held.used} of {most} times in this hour"
        else:
            had = f"{clean(self._rules.name)} has had {held.used} of {most} stops in this hour"
        return had if held.used >= (most or 0) else f"{had}, and {victims} more would be too many"

    def nothing_lower(self, job: SnapshotJob) -> str:
        """Nobody to stop."""
        return f"{self.needs(job)}; nothing of lower rank runs in {clean(self._rules.name)}."

    def not_enough(self, job: SnapshotJob, below: Below) -> str:
        """Stopping everybody below would not do."""
        often = "because their users' jobs were stopped often enough in this hour"
        limited = f", {below.limited} of them {often}" if below.limited else ""
        spared = f" ({below.spared} more may not be stopped{limited})" if below.spared else ""
        if not below.stoppable:
            return (
                f"{self.needs(job)}; none of the {below.spared} lower jobs that run may be stopped{limited}."
            )
        all_of_them = "the only lower job" if below.stoppable == 1 else f"all {below.stoppable} lower jobs"
        holding = words.amounts(
            {name: amount for name, amount in below.held().items() if name in wanted(job)}
        )
        return f"{self.needs(job)}. Stopping {all_of_them}{spared}, {holding} together, would not make enough room."

    def never(self, job: SnapshotJob, shape: Shape) -> str:
        """Too much for the partition."""
        partition = clean(self._rules.name)
        if not shape.count:
            return f"{self.needs(job)}; {partition} does not have that, even when it is empty."
        if shape.beyond:
            has = f"no node of {partition} has {words.amounts(dict(shape.beyond))}"
        elif not shape.suitable:
            has = f"{partition} has no such node"
        else:
            has = f"of such nodes {partition} has only {shape.suitable}"
        return f"{self.needs(job)}; {has}: it can never start here."

    def blocked(self, job: SnapshotJob) -> str:
        """Something other than room is missing."""
        return f"{self.who(job)} may not start yet: {clean(job.blocked, 200)}."

    def over_quota(self, job: SnapshotJob, beyond: Beyond) -> str:
        """`bob may have 1 P0 job running at a time and has 1`, `bob's running P0 jobs may hold 16 gpu together …`."""
        level = level_word(job.task_level, self._rules.level_names, "L")
        what, user = beyond.meter.resource, beyond.meter.user
        if what == JOBS:
            jobs = "job" if beyond.limit == 1 else "jobs"
            return f"{clean(job.user)} may have {beyond.limit} {level} {jobs} running at a time and has {beyond.used}"
        whose = "all running" if user is None else f"{clean(user)}'s running"
        limit, used, asked = (
            words.amounts({what: amount}) for amount in (beyond.limit, beyond.used, beyond.asked)
        )
        said = f"{whose} {level} jobs may hold {limit} together"
        if beyond.asked > beyond.limit:
            return f"{said}, and it alone asks for {asked}"
        return f"{said} and hold {used}; it asks for {asked}"


def need(request: Request) -> str:
    """`6 cpu on one node`, `2 × a100 on each of 4 nodes`, `6 cpu in all`; with what the nodes must be
    like."""
    asked = words.amounts(request.per_node if request.nodes else request.spread or request.unit)
    if request.count:
        asked = f"{request.count} units of {asked}" if request.count > 1 else f"one unit of {asked}"
    match request.nodes:
        case 0:
            where = "" if request.count else "in all"
        case 1:
            where = "on one node"
        case count:
            where = f"on each of {count} nodes"
    features = [clean(name) for name in sorted(request.features)] + [clean(each) for each in _sets(request)]
    extra = [f"with {words.names(features)}"] if features else []
    if request.only_nodes:
        extra.append(f"out of {words.names(clean(name) for name in sorted(request.only_nodes))}")
    if request.not_nodes:
        extra.append(f"other than {words.names(clean(name) for name in sorted(request.not_nodes))}")
    if request.exclusive:
        extra.append("for itself alone")
    return " ".join(part for part in (asked, where, *extra) if part)


def _sets(request: Request) -> Iterator[str]:
    """Further sets of features in Slurm's words: `a|(b&c)`, `[a|b]`, `[a*2&b*1]`."""
    if request.any_of:
        yield "|".join(map(_set, request.any_of))
    if request.same_of:
        yield f"[{'|'.join(map(_set, request.same_of))}]"
    if request.counted:
        yield f"[{'&'.join(f'{_set(features)}*{count}' for count, features in request.counted)}]"


def _set(features: frozenset[str]) -> str:
    return "&".join(sorted(features)) if len(features) == 1 else f"({'&'.join(sorted(features))})"


def wanted(job: SnapshotJob) -> Mapping[str, int]:
    """The amounts that a pending job asks for, per node or in all."""
    request = job.request
    if request is None:
        return {}
    return request.per_node if request.nodes else request.spread or request.unit


def clean(text: str, longest: int = _LONGEST) -> str:
    """A text of the cluster as it may stand in a sentence: printable, on one line, not too long."""
    shown = printable(text)
    return shown if len(shown) <= longest else f"{shown[:longest]}…"


def printable(text: str) -> str:
    """A text in which nothing is left that a terminal or a page would obey."""
    return text if text.isprintable() else "".join(char if char.isprintable() else "?" for char in text)


def free_now(job: SnapshotJob, nodes: Iterable[str], free: Amounts) -> str:
    """`n1 has 4 cpu free`; of a request that names no number of nodes, what is free in all."""
    if job.request and not job.request.nodes:
        return f"free now: {words.amounts(free)}"
    names = list(nodes)
    have = "has" if len(names) == 1 else "have"
    together = "" if len(names) == 1 else " together"
    return f"{_names(names)} {have} {words.amounts(free)} free{together}"


def _names(nodes: Iterable[str]) -> str:
    return words.told(nodes, clean)
