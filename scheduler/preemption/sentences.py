"""Every decision in one or two plain sentences, with the numbers (contract A, `explain`)."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TypeVar

from scheduler.model.jobs import Level, Request, SnapshotJob
from scheduler.model.policy import Mode
from scheduler.model.reasons import Reason
from scheduler.model.resources import Amounts
from scheduler.model.sentence import Held, Listed, Param, Seconds, Sentence, say, told
from scheduler.model.snapshot import Snapshot
from scheduler.preemption.limits import Found, HeldBack
from scheduler.preemption.node_state import RunningJob
from scheduler.preemption.quotas import JOBS, Beyond
from scheduler.preemption.shapes import Shape
from scheduler.preemption.tallies import Below
from scheduler.priority.levels import level_word

Item = TypeVar("Item")

_LONGEST = 60


class ExplanationWriter:
    """Talks about one snapshot's jobs."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._now = snapshot.now
        self._rules = snapshot.partition
        self._levels: dict[tuple[Level, Level], tuple[str, str]] = {}
        self._axes = _AXES.get(self._rules.mode, ".both")

    def level(self, job: SnapshotJob) -> str:
        """The levels that the partition's mode looks at, as the explanations of contract A say them."""
        user, task = self._levels_of(job)
        match self._rules.mode:
            case Mode.USER:
                return str(user)
            case Mode.TASK:
                return f"task {task}"
            case _:
                return f"{user}, task {task}"

    def who(self, job: SnapshotJob) -> Sentence:
        """`102 (bob, P1)`; many jobs have the same levels."""
        user, task = self._levels_of(job)
        name = {"job": clean(job.id), "user": clean(job.user)}
        return say(f"job{self._axes}", **name, **self._named(user, task))

    def victim(self, runner: RunningJob) -> Sentence:
        """`101 (ann, P2, ran 2 h 14 min)`."""
        job = runner.job
        user, task = self._levels_of(job)
        name = {"job": clean(job.id), "user": clean(job.user)}
        ran = runner.ran if runner.own_ran is None else runner.own_ran
        return say(f"victim{self._axes}", **name, **self._named(user, task), time=Seconds(ran))

    def _levels_of(self, job: SnapshotJob) -> tuple[str, str]:
        """The user's and the task's level as they are called."""
        levels = job.user_level, job.task_level
        known = self._levels.get(levels)
        if known is None:
            names = self._rules.level_names
            user, task = level_said(job.user_level, names), level_said(job.task_level, names, "L")
            known = self._levels[levels] = user, task
        return known

    def _named(self, user: str, task: str) -> dict[str, str]:
        match self._rules.mode:
            case Mode.USER:
                return {"level": user}
            case Mode.TASK:
                return {"task": task}
            case _:
                return {"level": user, "task": task}

    def needs(self, job: SnapshotJob) -> dict[str, str]:
        """The beginning of most explanations, as parameters: who it is, and what it needs."""
        return {"who": self.who(job), "need": need(job.request) if job.request else say("need.unknown")}

    def start(self, job: SnapshotJob, nodes: Iterable[str], free: Amounts) -> Sentence:
        """There is room."""
        return say("start", **self.needs(job), free=free_now(job, nodes, free))

    def wait(self, job: SnapshotJob, nodes: Iterable[str]) -> Sentence:
        """Room is coming by itself."""
        return say("room.coming", **self.needs(job), nodes=_names(nodes))

    def promised(self, job: SnapshotJob) -> Sentence:
        """A plan is being carried out."""
        return say("room.promised", who=self.who(job), nodes=_names(job.promised))

    def preempt(
        self, job: SnapshotJob, nodes: Iterable[str], free: Amounts, victims: Iterable[RunningJob]
    ) -> Sentence:
        """Victims make room."""
        stopped, names = listed(victims, self.victim, limit=5), list(nodes)
        return say(
            "stop", **self.needs(job), free=free_now(job, names, free), victims=stopped, nodes=_names(names)
        )

    def held(self, job: SnapshotJob, found: Found, free: Amounts) -> Sentence:
        """Victims would make room, but may not be stopped."""
        victims = found.room.price.victims[::-1]
        nodes = [place.node.name for place in found.room.places]
        given: dict[str, Param] = {
            **self.needs(job),
            "free": free_now(job, nodes, free),
            "victims": listed(victims, self.victim, limit=5),
            "why": self.limit(job, found.held, len(victims)) if found.held else "",
        }
        return say("stop.held", **given, nodes=_names(nodes)) if nodes else say("stop.held.anywhere", **given)

    def limit(self, job: SnapshotJob, held: HeldBack, victims: int) -> str:
        """The limit that holds stops back."""
        rules = self._rules
        match held.reason:
            case Reason.PAUSED:
                return rules.paused if isinstance(rules.paused, Sentence) else told(clean(rules.paused, 200))
            case Reason.CRASHES:
                return say("limit.crashes", n=job.crashes)
            case Reason.TOO_SOON:
                left = rules.min_wait_s - (self._now - job.submit)
                return say("limit.too_soon", left=Seconds(left), time=Seconds(rules.min_wait_s))
            case Reason.COOL_DOWN:
                ago = self._now - (job.stopped_at or 0)
                return say("limit.cool_down", time=Seconds(ago), left=Seconds(rules.cool_down_s - ago))
            case Reason.HOURLY_LIMIT:
                return self._hourly(held, victims)
            case _:
                return say("limit.comes_back", job=clean(job.id))

    def _hourly(self, held: HeldBack, victims: int) -> Sentence:
        """`x has had 5 of 5 stops in this hour`."""
        most = (self._rules.max_stops_per_user_hour if held.user else self._rules.max_stops_per_hour) or 0
        counted = {"used": held.used, "most": most}
        if held.user:
            had = say("limit.user_hour", user=clean(held.user), **counted)
        else:
            had = say("limit.hour", partition=clean(self._rules.name), **counted)
        return had if held.used >= most else say("limit.too_many", why=had, n=victims)

    def nothing_lower(self, job: SnapshotJob) -> Sentence:
        """Nobody to stop. Where there are bands, jobs of lower levels may well run: those of its own band."""
        bands = ".bands" if self._rules.bands is not None else ""
        return say(f"queue.nothing_lower{bands}", **self.needs(job), partition=clean(self._rules.name))

    def not_enough(self, job: SnapshotJob, below: Below) -> Sentence:
        """Stopping everybody below would not do."""
        often = {"m": below.limited} if below.limited else {}
        more = ".often" if often else ""
        if not below.stoppable:
            return say(f"queue.none_may{more}", **self.needs(job), n=below.spared, **often)
        lower = say("below.one") if below.stoppable == 1 else say("below.all", n=below.stoppable)
        if below.spared:
            lower = say(f"below.spared{more}", below=lower, n=below.spared, **often)
        holding = Held({name: amount for name, amount in below.held().items() if name in wanted(job)})
        return say("queue.not_enough", **self.needs(job), below=lower, amounts=holding)

    def never(self, job: SnapshotJob, shape: Shape) -> Sentence:
        """Too much for the partition."""
        given = {**self.needs(job), "partition": clean(self._rules.name)}
        if not shape.count:
            return say("never.empty", **given)
        if shape.beyond:
            return say("never.amounts", **given, amounts=Held(shape.beyond))
        if not shape.suitable:
            return say("never.node", **given)
        return say("never.nodes", **given, n=shape.suitable)

    def blocked(self, job: SnapshotJob) -> Sentence:
        """Something other than room is missing."""
        why = job.blocked if isinstance(job.blocked, Sentence) else told(clean(job.blocked, 200))
        return say("blocked", who=self.who(job), why=why)

    def over_quota(self, job: SnapshotJob, beyond: Beyond) -> Sentence:
        """`bob may have 1 P0 job running at a time and has 1`, `bob's running P0 jobs may hold 16 gpu together …`."""
        what, user = beyond.meter.resource, beyond.meter.user
        level = level_said(job.task_level, self._rules.level_names, "L")
        if what == JOBS:
            code = "quota.job" if beyond.limit == 1 else "quota.jobs"
            return say(code, user=clean(job.user), limit=beyond.limit, level=level, used=beyond.used)
        given: dict[str, Param] = {"level": level, "limit": Held({what: beyond.limit})}
        given["asked"] = Held({what: beyond.asked})
        code = "quota.all" if user is None else "quota.user"
        if user is not None:
            given["user"] = clean(user)
        if beyond.asked > beyond.limit:
            return say(f"{code}.alone", **given)
        return say(code, **given, used=Held({what: beyond.used}))


_AXES = {Mode.USER: "", Mode.TASK: ".task"}


def level_said(level: Level, names: Sequence[str], letter: str = "P") -> str:
    """A level as it is called; the word for none is said in each language."""
    return say("level.none") if level is None else printable(level_word(level, names, letter))


def listed(items: Iterable[Item], said: Callable[[Item], Param], limit: int = 6) -> Listed:
    """Some of the items in words; `said` is asked only for those that are not cut off."""
    every = list(items)
    shown = every[: limit - 1] if len(every) > limit else every
    return Listed.of(map(said, shown), len(every) - len(shown))


def need(request: Request) -> str:
    """`6 cpu on one node`, `2 × a100 on each of 4 nodes`, `6 cpu in all`; with what the nodes must be
    like."""
    asked: str = _amount(request)
    features = [clean(name) for name in sorted(request.features)] + [clean(each) for each in _sets(request)]
    if features:
        asked = say("need.with", need=asked, names=Listed(features))
    if request.only_nodes:
        asked = say("need.out_of", need=asked, nodes=Listed(map(clean, sorted(request.only_nodes))))
    if request.not_nodes:
        asked = say("need.other_than", need=asked, nodes=Listed(map(clean, sorted(request.not_nodes))))
    return say("need.alone", need=asked) if request.exclusive else asked


def _amount(request: Request) -> Sentence:
    """How much, and on how many nodes."""
    if request.count:
        unit = Held(request.unit)
        return (
            say("need.units", need=unit, n=request.count)
            if request.count > 1
            else say("need.unit", need=unit)
        )
    if not request.nodes:
        return say("need.in_all", need=Held(request.spread))
    each = Held(request.per_node)
    return (
        say("need.one_node", need=each)
        if request.nodes == 1
        else say("need.each_node", need=each, n=request.nodes)
    )


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


def free_now(job: SnapshotJob, nodes: Iterable[str], free: Amounts) -> Sentence:
    """`n1 has 4 cpu free`; of a request that names no number of nodes, what is free in all."""
    amounts = {"amounts": Held(free)} if any(free.values()) else {}
    none = "" if amounts else ".none"
    if job.request and not job.request.nodes:
        return say(f"free.anywhere{none}", **amounts)
    names = list(nodes)
    code = "free.node" if len(names) == 1 else "free.nodes"
    return say(f"{code}{none}", nodes=_names(names), **amounts)


def _names(nodes: Iterable[str]) -> Listed:
    return listed(nodes, clean)
