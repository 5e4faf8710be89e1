"""What an answer is made of. Sentences are plain text in which nothing is left that a terminal would obey."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from functools import cached_property

from django.utils import timezone
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from console.cluster.models import Cluster, Job, JobPhase, JobRun
from console.core import l10n_format
from console.core.l10n_format import set_in_type, with_aside
from console.core.templatetags.ui import ago_words
from console.core.translate import resay
from console.power.losses import shares_of, slow_down
from console.power.selectors import figures_by_device
from console.steering.failures import Streak
from console.steering.kinds.swap import runner_of
from console.steering.models import (
    OPEN_STATES,
    STOP_KINDS,
    Checkpoint,
    ChosenPlace,
    KeptPlace,
    Plan,
    PlanKind,
    PlannedAction,
    Victim,
)
from console.steering.sentences import only_stops
from scheduler.model.actions import ActionKind
from scheduler.model.jobs import RunKey
from scheduler.model.policy import AppliesTo, Mode, PartitionPolicy
from scheduler.model.reasons import SENTENCES
from scheduler.preemption.sentences import clean
from scheduler.priority.comment import read_comment

# At whose pace a running job goes: how much longer it takes than on an even set.

LEAST = 0.01
"""A smaller difference is none that could be told from chance."""


@dataclass(frozen=True, slots=True)
class Pace:
    """The node of its slowest processor, and how much longer it takes for it: 0.1 is a tenth."""

    slowest: str
    longer: float


def wants_even(row: Job, policy: PartitionPolicy | None) -> bool:
    """Whether the partition has a rule for even sets, and it is for this job."""
    if policy is None or policy.balance is None:
        return False
    return policy.balance.applies_to is AppliesTo.ALL or read_comment(row.comment).balanced


def pace_of(cluster: Cluster, rows: Sequence[Job], policies: Mapping[str, PartitionPolicy]) -> Pace | None:
    """That of a running job that is to have an even set; None where it has one, or that is not known."""
    row = next((each for each in rows if each.phase == JobPhase.RUNNING and each.alloc), None)
    if row is None or not wants_even(row, policies.get(row.partition)):
        return None
    found = shares_of(row.alloc, figures_by_device(cluster))
    if found is None:
        return None
    shares = found[1]
    longer = slow_down([each for share in shares for each in share.seconds])
    slowest = max(shares, key=lambda share: max(share.seconds)).node
    return Pace(slowest, longer) if longer >= LEAST else None


class About(StrEnum):
    """What a part of an answer is about."""

    WAITING = "waiting"
    STOPPED = "stopped"
    ROOM = "room"
    RUNNING = "running"
    ENDED = "ended"


QUESTIONS: dict[str, Promise] = {
    About.WAITING: gettext_lazy("Why is it waiting?"),
    About.STOPPED: gettext_lazy("Why was it stopped?"),
    About.ROOM: gettext_lazy("How did it get its room?"),
    About.RUNNING: gettext_lazy("What does it do now?"),
    About.ENDED: gettext_lazy("What became of it?"),
}


class Stage(StrEnum):
    """How far a stopped job is on its way back."""

    STOPPING = "stopping"
    """Its stop is written down and not done: it may still save its state."""
    HELD = "held"
    RELEASED = "released"
    RUNNING = "running"
    ENDED = "ended"
    NEVER = "never"
    """It was cancelled, because it cannot be requeued."""
    LOST = "lost"
    """It did not come back, and nobody but its user can have it run again."""
    SPARED = "spared"
    """It was not stopped after all."""


@dataclass(frozen=True, slots=True)
class AnswerLine:
    """A sentence, with the moment that it speaks of, if any: a page keeps its age current.

    It is read with the moment's age behind it: `It was stopped` 2 min ago, `Slurm expects it to start` in 3 h.
    """

    text: str
    at: datetime | None = None

    def __post_init__(self) -> None:
        """It may have been put together from names and words."""
        object.__setattr__(self, "text", set_in_type(self.text))

    def spoken(self, now: datetime) -> str:
        """The sentence with its moment: `It was stopped. (2 min ago, 14:02:31)`."""
        if self.at is None:
            return self.text
        return set_in_type(
            with_aside(self.text.removesuffix("\N{FULLWIDTH COLON}"), moment_words(self.at, now))
        )


@dataclass(frozen=True, slots=True)
class AnswerPart:
    """One question's answer. `plan` is the plan that it speaks of."""

    about: About
    headline: str
    lines: tuple[AnswerLine, ...] = ()
    plan: int | None = None
    asks: str = ""

    def __post_init__(self) -> None:
        """Put together, as a line is."""
        object.__setattr__(self, "headline", set_in_type(self.headline))

    @property
    def question(self) -> str:
        """What it answers, for a page's heading."""
        return self.asks or str(QUESTIONS[self.about])


@dataclass(frozen=True, slots=True)
class Return:
    """When a stopped job comes back."""

    stage: Stage
    text: str
    at: datetime | None = None


@dataclass(frozen=True, slots=True)
class AnsweredStop:
    """One stop of the job to make room for another. `at` is when it was done; None: not yet, or never."""

    plan: int
    job_id: str
    user: str
    at: datetime | None
    stage: Stage
    saved: str = ""


@dataclass(frozen=True, slots=True)
class JobAnswer:
    """All that is to be said of one job, what matters most first. `stops`: how often it was stopped so far."""

    job_id: str
    name: str
    user: str
    partitions: tuple[str, ...]
    state: str
    parts: tuple[AnswerPart, ...]
    stopped_by: tuple[AnsweredStop, ...] = ()
    comes_back: Return | None = None
    plan: int | None = None
    stops: int = 0
    most_stops: int | None = None

    @property
    def headline(self) -> str:
        """The one sentence."""
        return self.parts[0].headline if self.parts else ""

    def lines(self, now: datetime) -> list[str]:
        """Everything after the headline as plain sentences; the parts after the first begin with their headlines."""
        first, *others = self.parts
        said = [line.spoken(now) for line in first.lines]
        for part in others:
            said += [part.headline, *(line.spoken(now) for line in part.lines)]
        return said


def moment_words(at: datetime, now: datetime) -> str:
    """`in 20 s, 14:02:31 UTC`; with the date when it is not today."""
    local = timezone.localtime(at)
    today = local.date() == timezone.localtime(now).date()
    exact = f"{local:%H:%M:%S %Z}" if today else f"{local:%Y-%m-%d %H:%M:%S %Z}"
    return f"{ago_words((now - at).total_seconds())}, {exact}"


# What is known of one job, to answer from; `reading` reads it.


@dataclass(frozen=True)
class Known:
    """What the database has on a job.

    `rows`: the mirror, one per partition. `own`: plans made for it, `acts`: what was done to it (with their plans),
    `proposals`: open plans that would stop it; all of these newest first. `others`: rows of the jobs that it was
    stopped for. `policies`: those in force, `revisions`: those that plans were made under, by partition and number.
    `next_try`: its last plan was undone, and a new one is not made before then.
    `streaks`: the failures of cycles on whose account nobody is stopped now.
    `runs`: those that were seen, in their order, if there was more than one.
    `lost`: the runs of it that were stopped and did not come back, by plan.
    `kept`: the nodes that are kept for it while it waits.
    `ahead`: the jobs just before it in line, `lowest`: the running job that would be the first to go; by partition.
    """

    cluster: Cluster
    job_id: str
    now: datetime
    rows: Sequence[Job] = ()
    own: Sequence[Plan] = ()
    acts: Sequence[PlannedAction] = ()
    proposals: Sequence[Plan] = ()
    checkpoints: Sequence[Checkpoint] = ()
    others: Mapping[tuple[str, str], Job] = field(default_factory=dict)
    policies: Mapping[str, PartitionPolicy] = field(default_factory=dict)
    revisions: Mapping[tuple[str, int], PartitionPolicy] = field(default_factory=dict)
    ahead: Mapping[str, Sequence[Job]] = field(default_factory=dict)
    lowest: Mapping[str, Job] = field(default_factory=dict)
    pauses: Mapping[str, str] = field(default_factory=dict)
    streaks: Sequence[Streak] = ()
    next_try: datetime | None = None
    lost: Mapping[tuple[int, RunKey], Victim] = field(default_factory=dict)
    runs: Sequence[JobRun] = ()
    kept: KeptPlace | None = None
    placed: ChosenPlace | None = None
    pace: Pace | None = None

    @property
    def anything(self) -> bool:
        """Whether anything is known at all."""
        return bool(self.rows or self.own or self.acts)

    @cached_property
    def row(self) -> Job | None:
        """Its row; of several, the one of the partition it runs in, else the first in line."""
        living = [row for row in self.rows if row.phase != JobPhase.ENDED]
        ordered = sorted(
            living or self.rows, key=lambda row: (row.phase == JobPhase.PENDING, row.place or 1e9)
        )
        return ordered[0] if ordered else None

    @cached_property
    def stops(self) -> list[PlannedAction]:
        """What stopped it, or is to stop it, for another job: newest first, one per run and plan."""
        found: dict[tuple[int, RunKey], PlannedAction] = {}
        for act in self.acts:
            if act.kind in STOP_KINDS and act.plan.job_id != self.job_id:
                key = (act.plan_id, RunKey(act.job_id, act.run_start, act.run_restarts))
                # A stop that gave way to a recovery: the recovery is what happened.
                if key not in found or act.kind == ActionKind.RECOVER:
                    found[key] = act
        return list(found.values())

    def open_plan(self, partition: str) -> Plan | None:
        """The plan that is being made or carried out for it in a partition."""
        mine = (plan for plan in self.own if plan.partition == partition and plan.state in OPEN_STATES)
        # One that makes room says more than the one that holds it until then.
        return min(mine, key=lambda plan: plan.kind == PlanKind.WHOLE, default=None)

    @property
    def open_plans(self) -> dict[int, Plan]:
        """The plans that are not over and have to do with it, by id."""
        every = [*self.own, *(act.plan for act in self.acts), *self.proposals]
        return {plan.pk: plan for plan in every if plan.state in OPEN_STATES}

    def last_plan(self, partition: str) -> Plan | None:
        """The newest plan for it in a partition."""
        return next((plan for plan in self.own if plan.partition == partition), None)

    def checkpoint(self, stop: PlannedAction) -> Checkpoint | None:
        """What the stopped run was asked to save."""
        run = (stop.run_start, stop.run_restarts)
        return next((c for c in self.checkpoints if (c.run_start, c.run_restarts) == run), None)


# Words that several parts use. All text of the cluster goes through `clean` before it stands in a sentence.

LONGEST_REASON = 300
_SENTENCES: dict[str, str] = {reason.value: sentence for reason, sentence in SENTENCES.items()}


def one_line(text: str, longest: int = LONGEST_REASON) -> str:
    """What a person or a job wrote, as it may stand in a sentence."""
    return clean(" ".join(text.split()), longest)


def kept(text: str, longest: int = LONGEST_REASON) -> str:
    """What is kept in English, in the reader's language."""
    return one_line(resay(text), longest)


def sentence(reason: str) -> str:
    """A machine reason in words; the reason itself when this version does not know it."""
    known = _SENTENCES.get(reason)
    return _(known) if known else one_line(reason.replace("_", " "), 60)


def who(job_id: str, user: str) -> str:
    """`4711 (cy)`."""
    return _("%(job)s (%(user)s)") % {"job": clean(job_id), "user": clean(user)}


def jobs(rows: Iterable[Job], mode: Mode, limit: int = 5) -> str:
    """`99 (ann, P0), 100 (cy, P1) and 3 more`, with the levels by which a partition of this mode decides."""
    return l10n_format.names((_ranked(row, mode) for row in rows), limit)


def level_in_line(row: Job, mode: Mode) -> str:
    """`P1`, or `P1 / P2` where both axes decide; the more important one first."""
    user = _level(row.user_level, row.user_level_name)
    task = _level(row.task_level, row.task_level_name)
    match mode:
        case Mode.USER:
            return user
        case Mode.TASK:
            return task
        case Mode.USER_THEN_TASK:
            return f"{user} / {task}"
        case Mode.TASK_THEN_USER:
            return f"{task} / {user}"


def _level(level: int | None, name: str) -> str:
    return clean(name) if level is not None else _("unconfigured")


def _ranked(row: Job, mode: Mode) -> str:
    facts = {"job": clean(row.job_id), "user": clean(row.user), "level": level_in_line(row, mode)}
    return _("%(job)s (%(user)s, %(level)s)") % facts


def victims(plan: Plan) -> str:
    """`88 (bob) and 91 (eve)`."""
    return l10n_format.names((who(str(v["job"]), str(v.get("user", ""))) for v in plan.victims), 5)


def stopping(plan: Plan, stops: str, gives: str) -> str:
    """What to say of its victims: `stops` when each of them is stopped, else `gives`."""
    return stops if only_stops(plan.victims) else gives


def times(count: int) -> str:
    """`once`, `3 times`."""
    return _("once") if count == 1 else ngettext("%d time", "%d times", count) % count


def lower_first(text: str) -> str:
    """A sentence as it stands inside another one, without its full stop."""
    return text[:1].lower() + text[1:].rstrip(".。")


def exchanged_nodes(plan: Plan) -> dict[str, str]:
    """Of an exchange: the nodes that the running job gives up, and those that it gets, for people."""
    runner = runner_of(plan)
    return {
        "up": l10n_format.names(clean(node) for node in runner["nodes"]),
        "instead": l10n_format.names(clean(node) for node in runner["gets"]),
    }
