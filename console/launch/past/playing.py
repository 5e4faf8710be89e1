"""The week, played in memory: who ran when and where, what was decided, and what each minute looked like.

As the cycles do it, somebody in a hurry is decided about by the planner; victims get their signal, are put back after
the grace time, and let go on when the one in a hurry runs. All of that is done to the simulator. Nothing is written.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from console.core import clock
from console.history.minutes import USER, axis_of, level_key
from console.history.recording import packed
from console.launch.past.played import (
    PlayedJob,
    PlayedMinute,
    PlayedPlan,
    PlayedProposal,
    PlayedRun,
    PlayedWeek,
)
from console.steering.backoff import PuttingOff
from console.steering.deciding import Verdicts, decide_all
from console.steering.facts import Facts, PartitionFacts, Stops
from scheduler.adapters.simulator.cluster import SimulatedCluster
from scheduler.adapters.simulator.jobs import SimJob
from scheduler.adapters.simulator.looking import look, observed_job
from scheduler.adapters.simulator.state import Happening, What
from scheduler.model.actions import FIRST_ALLOW, Action, ActionKind
from scheduler.model.jobs import JobState, RunKey
from scheduler.model.line import LAST_OF_FRONT
from scheduler.model.plan import MAKES_ROOM, Decision, How
from scheduler.model.policy import Enforcement, ProjectFacts
from scheduler.model.resources import add
from scheduler.priority.derive import Deriver
from scheduler.reconcile.decide import Outstanding

MINUTE, HOUR, DAY = 60, 3600, 86_400
CYCLE_S = 2
"""From one look to the next."""
AGAIN_S = 120
"""Who waits for room that cannot be made is decided about so often only."""
LOOK_S = 15 * MINUTE
"""Of the last day a whole look is kept so often, as far apart as a study still counts as seen throughout."""
LONGEST_S = 118
"""So long a beneficiary is waited for."""
ENDS = frozenset({What.ENDED, What.STOPPED, What.CANCELLED, What.REQUEUED})


class _Heard(list[Happening]):
    """The cluster's record, told on instead of being kept."""

    def __init__(self, hear: Callable[[Happening], None]) -> None:
        super().__init__()
        self._hear = hear

    def append(self, line: Happening) -> None:
        """One more line."""
        self._hear(line)


@dataclass
class Player:
    """Plays a cluster from where it stands; whoever waits for the partitions that enforce is decided about."""

    cluster: SimulatedCluster
    partitions: Mapping[str, PartitionFacts]
    projects: Sequence[ProjectFacts]
    week: PlayedWeek
    _stops: list[tuple[int, RunKey, str]] = field(default_factory=list)
    _served: set[tuple[str, int]] = field(default_factory=set)
    _levels: dict[str, str] = field(default_factory=dict)
    _saved: dict[RunKey, int] = field(default_factory=dict)
    _patient_until: int = 0
    _proposed: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        now = self.cluster.now
        self._derivers = {
            name: Deriver(each.policy, self.projects, now) for name, each in self.partitions.items()
        }
        self._enforced = {
            name: each
            for name, each in self.partitions.items()
            if each.policy.enforcement == Enforcement.ENFORCE
        }
        self._shadowed = {
            name: each
            for name, each in self.partitions.items()
            if each.policy.enforcement == Enforcement.SHADOW
        }
        self.cluster.state.record = _Heard(self._hear)

    def play(self, until: int, urgent: Callable[[SimulatedCluster], int]) -> None:
        """Go on until then. `urgent`: when the next one in a hurry comes."""
        while self.cluster.now < until:
            coming = urgent(self.cluster) + CYCLE_S
            self.advance_to(min(until, self._next_minute(), coming))
            if self.cluster.now >= coming - 1:
                self._patient_until = 0  # somebody has come
            if self.cluster.now >= self._patient_until and self._in_a_hurry(self._enforced):
                made = self._decide()
                self._patient_until = self.cluster.now + (CYCLE_S if made else AGAIN_S)
            waiting = self._in_a_hurry(self._shadowed) - self._proposed
            if waiting and self.cluster.now < until - HOUR:
                self._propose(waiting)

    def advance_to(self, moment: int) -> None:
        """Let the cluster go on, and look at it whenever a minute begins."""
        while self.cluster.now < moment:
            self.cluster.advance(min(moment, self._next_minute()) - self.cluster.now)
            if self.cluster.now % MINUTE == 0:
                self._look(self.cluster.now)

    def look_once_a_minute(self) -> None:
        """For who lets the cluster go on by itself."""
        minute = self.cluster.now // MINUTE * MINUTE
        if not self.week.minutes or self.week.minutes[-1].at < minute:
            self._look(minute)

    def _next_minute(self) -> int:
        return (self.cluster.now // MINUTE + 1) * MINUTE

    # --- what happens ---

    def _hear(self, line: Happening) -> None:
        job = self.cluster.state.jobs.get(line.job)
        if job is None:
            return
        if line.what is What.STARTED:
            self._started(job)
        elif line.what is What.SAVED:
            self._saved[job.run] = line.at
        elif line.what in ENDS and line.job in self.week.jobs and job.state is JobState.RUNNING:
            self.week.jobs[line.job].runs[-1].ended = line.at

    def _started(self, job: SimJob) -> None:
        seen = observed_job(self.cluster.state, job)
        known = self.week.jobs.setdefault(job.id, PlayedJob(seen, job.submit))
        known.seen = seen
        held = {node: dict(part) for node, part in job.alloc.items()}
        known.runs.append(PlayedRun(job.start or self.cluster.now, job.restarts, held, job.submit))

    def _look(self, minute: int) -> None:
        made = {name: PlayedMinute(minute, name) for name in self.partitions}
        for job in self.cluster.state.jobs.values():
            row = made[job.partitions[0]]
            for part in job.alloc.values():
                add(row.used, part)
            if job.state is not JobState.COMPLETING:
                counts = row.running if job.state is JobState.RUNNING else row.pending
                add(counts, {self._level(job): 1})
        self.week.minutes += made.values()
        if minute % LOOK_S == 0 and minute >= self.week.until - DAY:
            seen = look(self.cluster.state)
            self.week.looks[minute] = len(seen.jobs), packed(seen)

    def _level(self, job: SimJob) -> str:
        level = self._levels.get(job.id)
        if level is None:
            name = job.partitions[0]
            standing = self._derivers[name].derive(observed_job(self.cluster.state, job))
            first_by_user = axis_of(self.partitions[name].policy.mode) == USER
            level = level_key(standing.user_level if first_by_user else standing.task_level)
            self._levels[job.id] = level
        return level

    # --- who has to make room ---

    def _in_a_hurry(self, partitions: Mapping[str, PartitionFacts]) -> set[str]:
        return {
            job.id
            for job in self.cluster.state.jobs.values()
            if job.state is JobState.PENDING and job.partitions[0] in partitions and self._level(job) == "0"
        }

    def _propose(self, waiting: set[str]) -> None:
        """What a cycle writes down, once for each of these, where nothing is carried out."""
        self._proposed |= waiting
        moment = clock.from_epoch(self.cluster.now)
        facts = Facts(self._shadowed, self.projects, Stops(), (), Outstanding(), put_off=PuttingOff(moment))
        for verdicts in decide_all(look(self.cluster.state), facts):
            self.week.proposals += (
                PlayedProposal(self.cluster.now, verdicts, each)
                for each in verdicts.decisions
                if each.job in waiting and each.action in MAKES_ROOM and each.victims and not each.tasks
            )

    def _decide(self) -> bool:
        """As a cycle does; one plan at a time. Whether there was one."""
        for verdicts in decide_all(look(self.cluster.state), self._facts()):
            for decision in verdicts.decisions:
                if decision.action in MAKES_ROOM and decision.victims and not decision.tasks:
                    self._make_room(verdicts, decision)
                    return True
        return False

    def _facts(self) -> Facts:
        moment = clock.from_epoch(self.cluster.now)
        return Facts(
            self._enforced, self.projects, self._recent(), (), Outstanding(), put_off=PuttingOff(moment)
        )

    def _recent(self) -> Stops:
        """As `recent_stops` reads it."""
        now, within = self.cluster.now, dict[str, dict[str, int]]()
        times, of_job, ago = dict[str, int](), dict[str, int](), dict[str, int]()
        (name,) = self._enforced
        for at, run, user in self._stops:
            add(times, {run.job_id: 1})
            ago[run.job_id] = now - at
            if now - at < HOUR:
                add(of_job, {run.job_id: 1})
                add(within.setdefault(name, {}), {user: 1})
        return Stops(within, ago, times, frozenset(self._served), of_job)

    def _make_room(self, verdicts: Verdicts, decision: Decision) -> None:
        plan = PlayedPlan(self.cluster.now, verdicts, decision)
        job, signal = verdicts.jobs[decision.job], verdicts.facts.policy.checkpoint_signal
        first = RunKey(job.id, 0, job.restarts)
        self._apply(ActionKind.PRIORITISE, first, str(LAST_OF_FRONT + 1))
        for run in plan.victims:
            self._apply(ActionKind.SIGNAL, run, signal)
        self.advance_to(plan.at + verdicts.facts.policy.grace_s)
        plan.stopped_at = self.cluster.now
        for victim in decision.victims:
            kind = ActionKind.CANCEL if victim.how is How.CANCEL else ActionKind.REQUEUE_HOLD
            self._apply(kind, verdicts.jobs[victim.job].run, FIRST_ALLOW)
        self._wait_for(job.id, plan)
        for run in plan.victims:
            self._apply(ActionKind.RELEASE, run, "")
        plan.saved = {run: self._saved[run] for run in plan.victims if run in self._saved}
        self.advance_to(self.cluster.now + CYCLE_S)
        plan.over_at = self.cluster.now
        self._stops += [(plan.stopped_at, run, user) for run, user in plan.victims.items()]
        self._served.add((job.id, job.restarts))
        self.week.plans.append(plan)

    def _wait_for(self, job_id: str, plan: PlayedPlan) -> None:
        """Until the beneficiary runs."""
        self.advance_to(self.cluster.now + CYCLE_S)
        plan.gone_at = self.cluster.now
        while self.cluster.now < plan.stopped_at + LONGEST_S:
            played = self.week.jobs.get(job_id)
            if played is not None and played.runs[-1].start >= plan.at:
                plan.started_at = self.cluster.now
                return
            self.advance_to(self.cluster.now + CYCLE_S)

    def _apply(self, kind: ActionKind, run: RunKey, value: str) -> None:
        self.cluster.apply([Action(kind, run, value=value)])
