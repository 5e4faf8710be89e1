"""Making up the week, once: at the first start of a demonstration on the simulated cluster."""

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from random import Random

import structlog
from django.db import transaction

from console.audit.services import recorded_together
from console.cluster.connect import configured_cluster, connect
from console.cluster.models import Cluster, Job
from console.core import clock
from console.forecasts.learning import ended_job
from console.forecasts.models import LONGEST_NAME, FinishedSource, JobForecast, KeptRun
from console.forecasts.requests import facts_of, size_of
from console.history.minutes import uses_of_levels
from console.history.models import QuotaMinute, RecordedObservation
from console.insights.summing import sum_up
from console.insights.unevenness import sum_unevenness
from console.launch.demo import SET_UP_BEFORE, is_first_start
from console.launch.past.job_rows import BATCH, Setting, times_stopped, write_jobs, write_minutes
from console.launch.past.mishaps import LaterTelling, later_of_mishap, mark_mishaps
from console.launch.past.played import PlayedJob, PlayedPlan, PlayedProposal, PlayedWeek
from console.launch.past.playing import CYCLE_S, HOUR, MINUTE, Player
from console.launch.past.power_rows import write_figures
from console.partitions.models import PolicyRevision
from console.partitions.quotas import LevelLimit, Meter, limits_of, take, uses_in
from console.power.losses import keep_losses
from console.projects.selectors import core_projects
from console.starts.models import ExpectedStart
from console.steering.facts import PartitionFacts, partition_policies
from console.steering.journal import tell_action, tell_checkpoint, tell_plan
from console.steering.metrics import MeteredStop, metered
from console.steering.models import (
    STOP_KINDS,
    ActionState,
    Checkpoint,
    Cycle,
    CycleOutcome,
    Fate,
    Plan,
    PlannedAction,
    PlanState,
    Via,
    Victim,
)
from console.steering.new_plans import NewPlans, actions_for, deadline_for, victims_of
from console.steering.victims import WATCHED
from scheduler.adapters.simulator import demo, demo_week
from scheduler.adapters.simulator.cluster import SimulatedCluster
from scheduler.adapters.simulator.looking import look
from scheduler.adapters.simulator.scenarios import DEFAULT_SEED
from scheduler.adapters.simulator.stored import StoredSimulator
from scheduler.forecast.model import Model
from scheduler.model.actions import ActionKind, OutcomeKind
from scheduler.model.jobs import RunKey
from scheduler.model.observation import Observation
from scheduler.model.policy import ProjectFacts
from scheduler.model.sentence import Listed, join, say

# --- What was forecast in the made-up week: what is learned of the jobs that ended, and for the last of them what was
# said of their run times, by the plain model as it was then, and of their starts.


FORECAST = 900
"""So many of the last jobs have a forecast: each is worked out, a millisecond each."""
WAITED_S = 60
"""Who starts sooner had no expected start."""
SOONER, LATER = 0.6, 1.6
"""How wide an expected start is, as parts of the wait until its middle."""


def write_forecasts(cluster: Cluster, week: PlayedWeek, rows: Iterable[Job], seed: int) -> None:
    """Of jobs that ran once and ended by themselves."""
    once = [row for row in rows if row.ended_at and _ran_once(week, week.jobs[row.job_id])]
    once.sort(key=lambda row: (week.jobs[row.job_id].first_submit, row.pk))
    kept = KeptRun.objects.bulk_create(
        (_kept(cluster, row, week.jobs[row.job_id]) for row in once), batch_size=BATCH
    )
    runs = {run.job_id: run for run in kept}
    told = once[-FORECAST:]
    JobForecast.objects.bulk_create(_forecasts(cluster, told, runs.values(), runs), batch_size=BATCH)
    rng = Random(f"{seed}/starts")  # noqa: S311 (nothing secret here)
    starts = (_expected(cluster, row, week.jobs[row.job_id], rng) for row in told)
    ExpectedStart.objects.bulk_create([row for row in starts if row is not None], batch_size=BATCH)


def _ran_once(week: PlayedWeek, job: PlayedJob) -> bool:
    return len(job.runs) == 1 and job.ended != week.until


def _kept(cluster: Cluster, row: Job, job: PlayedJob) -> KeptRun:
    (run,) = job.runs
    return KeptRun(
        cluster=cluster,
        job_id=row.job_id,
        user=row.user,
        account=row.account,
        name=row.name[:LONGEST_NAME],
        partition=row.partition,
        submit=job.first_submit,
        start=run.start,
        end=run.ended or run.start,
        limit_s=row.time_limit_s,
        state=row.slurm_state,
        source=FinishedSource.CYCLES,
        **size_of(row)._asdict(),
    )


def _forecasts(
    cluster: Cluster, told: Sequence[Job], ended: Iterable[KeptRun], runs: dict[str, KeptRun]
) -> list[JobForecast]:
    """As a forecaster would have said them: knowing what had ended when a job came."""
    model, coming, made = Model(), sorted(ended, key=lambda run: run.end), []
    done = 0
    for row in told:
        submit = row.first_submit
        while done < len(coming) and coming[done].end <= submit:
            model.ended(ended_job(coming[done]))
            done += 1
        size, run = size_of(row), runs[row.job_id]
        said = model.submitted(row.job_id, facts_of(row, size))
        made.append(
            JobForecast(
                cluster=cluster,
                job_id=row.job_id,
                submit=submit,
                partition=row.partition,
                user=row.user,
                nodes=size.nodes,
                cpus=size.cpus,
                gpus=size.gpus,
                limit_s=row.time_limit_s,
                made_at=clock.from_epoch(submit),
                start=run.start,
                ran_s=run.end - run.start,
                ended_at=row.ended_at,
                **{name: getattr(said, name) for name in ("p10", "p50", "p90", "low", "high")},
            )
        )
    return made


def _expected(cluster: Cluster, row: Job, job: PlayedJob, rng: Random) -> ExpectedStart | None:
    """When it was expected to start: off by chance, more where it waited longer; Slurm's own goes by time limits."""
    begun = job.runs[0].start
    waited = begun - job.first_submit
    if waited < WAITED_S:
        return None
    p50 = job.first_submit + int(waited * rng.lognormvariate(0, 0.35))
    wait = p50 - job.first_submit
    low, high = job.first_submit + int(wait * SOONER), job.first_submit + int(wait * LATER) + WAITED_S
    return ExpectedStart(
        cluster=cluster,
        job_id=row.job_id,
        submit=job.first_submit,
        partition=row.partition,
        made_at=job.first_submit,
        first_at=job.first_submit,
        p50=p50,
        low=low,
        high=high,
        first_p50=p50,
        first_low=low,
        first_high=high,
        first_slurm=job.first_submit + int(waited * rng.uniform(1.2, 3.5)),
        started=begun,
        gone_at=clock.from_epoch(begun),
    )


# --- The plans of the made-up week, written as the cycles would have written them: with steps, fates and audit rows.


FIRST_STEPS = (ActionKind.PRIORITISE, ActionKind.SIGNAL)
BATCH_PLAN_ROWS = 100


@dataclass
class PlanRows:
    """Writes the plans of a week. `stops`: what was stopped in each minute of it, by the minute's epoch second."""

    cluster: Cluster
    week: PlayedWeek
    stops: dict[int, list[MeteredStop]] = field(default_factory=dict)
    _steps: list[PlannedAction] = field(default_factory=list)
    _checkpoints: list[Checkpoint] = field(default_factory=list)
    _victims: list[Victim] = field(default_factory=list)
    _due: list[LaterTelling] = field(default_factory=list)
    _told_until: int = 0

    def write(self) -> None:
        """All of them. Must run inside a transaction, in which nothing else is told in the audit log meanwhile."""
        every: list[PlayedPlan | PlayedProposal] = [*self.week.plans, *self.week.proposals]
        played = sorted(every, key=lambda each: each.at)
        plans = self._plans(played)
        with recorded_together():
            for plan, each in zip(plans, played, strict=True):
                self._tell_later_ones(each.at)
                if isinstance(each, PlayedPlan):
                    self._tell(plan, each)
                else:
                    self._tell_proposal(plan, each)
            self._tell_later_ones(self.week.until)
        PlannedAction.objects.bulk_create(self._steps, batch_size=BATCH_PLAN_ROWS)
        Checkpoint.objects.bulk_create(self._checkpoints, batch_size=BATCH_PLAN_ROWS)
        Victim.objects.bulk_create(self._victims, batch_size=BATCH_PLAN_ROWS)
        for step, stop in metered(step for step in self._steps if step.kind in STOP_KINDS):
            if step.verified_at is not None:
                self.stops.setdefault(int(step.verified_at.timestamp()) // 60 * 60, []).append(stop)

    def cycle_at(self, moment: int) -> int:
        """The number of the cycle that there would have been."""
        return (moment - self.week.begin) // CYCLE_S + 1

    def _plans(self, played: Sequence[PlayedPlan | PlayedProposal]) -> list[Plan]:
        """The plans as they ended, saved. One cycle may have made several."""
        begun = {self.cycle_at(each.at): each.at for each in reversed(played)}
        cycles = Cycle.objects.bulk_create(
            Cycle(
                cluster=self.cluster,
                number=number,
                started_at=clock.from_epoch(at),
                finished_at=clock.from_epoch(at) + timedelta(milliseconds=60),
                outcome=CycleOutcome.OK,
            )
            for number, at in sorted(begun.items())
        )
        of_number = {cycle.number: cycle for cycle in cycles}
        made = [self._plan(each, of_number[self.cycle_at(each.at)]) for each in played]
        plans = [plan for _, plan in made]
        Plan.objects.bulk_create(plans, batch_size=BATCH_PLAN_ROWS)
        for new, plan in made:
            plan.priority = new.priority_of(plan)  # Its own number is part of its place in line.
        Plan.objects.bulk_update(plans, ["priority"], batch_size=BATCH_PLAN_ROWS)
        return plans

    def _plan(self, played: PlayedPlan | PlayedProposal, cycle: Cycle) -> tuple[NewPlans, Plan]:
        with clock.set_to(clock.from_epoch(played.at)):
            new = NewPlans(self.cluster, lambda: cycle, played.verdicts)
            plan = new.worked_out(played.decision, victims_of(played.decision, played.verdicts))
            plan.deadline = deadline_for(played.verdicts.facts.policy)
        if isinstance(played, PlayedProposal):
            plan.state, plan.outcome = PlanState.EXPIRED, say("plan.started_alone", job=plan.job_id)
            plan.ended_at = clock.from_epoch(self.week.until)
            return new, plan
        plan.state, plan.ended_at = PlanState.VERIFIED, clock.from_epoch(played.over_at)
        if played.started_at is None:
            plan.state, plan.undo_reason = PlanState.UNDONE, say("plan.too_late", job=plan.job_id)
        else:
            plan.started_at = clock.from_epoch(played.started_at)
        runs = plan.undo_reason or say("plan.runs", job=plan.job_id)
        plan.outcome = join(runs, _waiting(sorted(run.job_id for run in played.victims)))
        return new, plan

    def _tell(self, plan: Plan, played: PlayedPlan) -> None:
        """The plan's steps and its part of the audit log, in the order of time."""
        policy = played.verdicts.facts.policy
        nodes = list(played.decision.nodes)
        with clock.set_to(clock.from_epoch(played.at)):
            after = {"state": "approved", "victims": plan.victims, "nodes": nodes, "mode": plan.mode}
            tell_plan(plan, "plan.proposed", after=after, reason=plan.explain)
            tell_plan(plan, "plan.executing", before={"state": "approved"}, after={"state": "executing"})
            steps = actions_for(plan, policy)
        first = [step for step in steps if step.kind in FIRST_STEPS]
        stops = [step for step in steps if step.kind in STOP_KINDS]
        releases = [step for step in steps if step.kind == ActionKind.RELEASE]
        _issue(first, played.at)
        _verify(first, played.stopped_at)
        self._save_work(plan, played)
        _issue(stops, played.stopped_at)
        _verify(stops, played.gone_at)
        _issue(releases, played.over_at - CYCLE_S)
        _verify(releases, played.over_at)
        self._steps += steps
        ended = {"state": plan.state, "victims": dict.fromkeys(_ids(played), Fate.WAITING.value)}
        with clock.set_to(clock.from_epoch(played.over_at)):
            what = f"plan.{plan.state}"
            tell_plan(plan, what, before={"state": "executing"}, after=ended, reason=plan.outcome)
        self._told_until = played.over_at
        for run, user in played.victims.items():
            victim = self._victim(plan, run, user)
            if run in played.failed:
                self._due += later_of_mishap(victim, played.failed[run])
            else:
                self._victims.append(victim)

    def _tell_proposal(self, plan: Plan, played: PlayedProposal) -> None:
        """It stands until its job starts by itself."""
        with clock.set_to(clock.from_epoch(played.at)):
            after = {"state": "proposed", "victims": plan.victims, "nodes": list(played.decision.nodes)}
            tell_plan(plan, "plan.proposed", after={**after, "mode": plan.mode}, reason=plan.explain)
        self._told_until = played.at
        started = self.week.jobs[plan.job_id].runs[0].start

        def end() -> None:
            plan.ended_at = clock.now()
            plan.save(update_fields=["ended_at"])
            before, after = {"state": "proposed"}, {"state": "expired"}
            tell_plan(plan, "plan.expired", before=before, after=after, reason=plan.outcome)

        self._due.append(LaterTelling(started + CYCLE_S, end))

    def _tell_later_ones(self, moment: int) -> None:
        """What was to be told before then; the log goes by time, so nothing of it comes before what is told already."""
        self._due.sort(key=lambda each: each.at)
        while self._due and self._due[0].at < moment:
            later = self._due.pop(0)
            self._told_until = max(self._told_until, later.at)
            with clock.set_to(clock.from_epoch(self._told_until)):
                later.tell()

    def _save_work(self, plan: Plan, played: PlayedPlan) -> None:
        """The signals are answered by those whose scripts save their state."""
        asked = []
        for run, user in played.victims.items():
            saved, again = played.saved.get(run), self._later_run(run)
            row = Checkpoint(plan=plan, cluster=self.cluster, user=user[:64], **_key(run))
            row.asked_at = clock.from_epoch(played.at)
            if saved is not None and saved <= played.stopped_at:
                row.acknowledged_at, row.via = clock.from_epoch(saved), Via.COMMENT
                row.saved = f"seconds={saved - run.start}"
            if again is not None:
                row.resumed_at, row.resumed_restarts = clock.from_epoch(again[0]), again[1]
            asked.append(row)
        with clock.set_to(clock.from_epoch(played.stopped_at)):
            for row in asked:
                if row.acknowledged_at is not None:
                    tell_checkpoint(row)
        self._checkpoints += asked

    def _later_run(self, run: RunKey) -> tuple[int, int] | None:
        """When and as which run a victim was first seen running again; None where it never was."""
        later = (each for each in self.week.jobs[run.job_id].runs if each.restarts > run.restarts)
        again = next(later, None)
        return None if again is None else (again.start + CYCLE_S, again.restarts)

    def _victim(self, plan: Plan, run: RunKey, user: str) -> Victim:
        """What became of it in the end: where it never ran again, its owner has thought better."""
        names = {each["job"]: each["name"] for each in plan.victims}
        row = Victim(plan=plan, cluster=self.cluster, job_name=names[run.job_id], user=user[:64], **_key(run))
        row.sent_at, again = plan.created_at, self._later_run(run)
        if again is None:
            row.fate, row.words = Fate.ENDED, say("fate.cancelled_by", user=row.user)
            row.settled_at = clock.from_epoch(self.week.until)
        else:
            row.fate, row.words = Fate.RETURNED, say("fate.came_back")
            row.back_at, row.back_restarts = clock.from_epoch(again[0]), again[1]
            row.settled_at = row.back_at + WATCHED
        return row


def _ids(played: PlayedPlan) -> list[str]:
    return [run.job_id for run in played.victims]


def _waiting(names: Sequence[str]) -> str:
    """As an outcome tells of victims that wait."""
    if len(names) == 1:
        return say("fates.waiting.one", job=names[0])
    return say("fates.waiting.many", names=Listed(names))


def _key(run: RunKey) -> dict[str, object]:
    return {"job_id": run.job_id, "run_start": run.start, "run_restarts": run.restarts}


def _issue(steps: Sequence[PlannedAction], moment: int) -> None:
    with clock.set_to(clock.from_epoch(moment)):
        for step in steps:
            step.state, step.outcome, step.attempts = ActionState.ISSUED, OutcomeKind.DONE.value, 1
            step.issued_at = clock.now()
            tell_action(step, "action.issued")


def _verify(steps: Sequence[PlannedAction], moment: int) -> None:
    with clock.set_to(clock.from_epoch(moment)):
        for step in steps:
            step.state, step.verified_at = ActionState.VERIFIED, clock.now()
            tell_action(step, "action.verified")


# --- How far the quotas were used in the made-up week, added up from who ran when ---


CLOSELY = 6 * HOUR
"""Before the end there is a row for each minute, for the shortest plot; before that for every few of them."""
EVERY = 15 * MINUTE


def write_quotas(setting: Setting, week: PlayedWeek, rows: Iterable[Job]) -> None:
    """A row for each level with a limit and each of these minutes."""
    limits = {name: limits_of(each.policy) for name, each in setting.partitions.items()}
    limits = {name: each for name, each in limits.items() if each}
    if not limits:
        return
    ranks = {row.job_id: row.task_level for row in rows if row.task_level is not None}
    made = [
        row for minute, taken in _taken(week, limits, ranks) for row in _rows(setting, limits, minute, taken)
    ]
    QuotaMinute.objects.bulk_create(made, batch_size=BATCH, ignore_conflicts=True)


def _rows(
    setting: Setting, limits: Mapping[str, list[LevelLimit]], minute: int, taken: Counter[Meter]
) -> Iterator[QuotaMinute]:
    for name, each in limits.items():
        for rank, uses in uses_of_levels(each, uses_in(name, each, taken)):
            at = clock.from_epoch(minute)
            yield QuotaMinute(cluster=setting.cluster, partition=name, at=at, rank=rank, uses=uses)


def _taken(
    week: PlayedWeek, limits: Mapping[str, list[LevelLimit]], ranks: Mapping[str, int]
) -> Iterator[tuple[int, Counter[Meter]]]:
    """What ran in each minute, of the partitions that limit it; to the end of the first hour after the week."""
    end = week.minutes[-1].at + MINUTE
    minutes = list(_minutes(week, end))
    found: dict[int, Counter[Meter]] = {minute: Counter() for minute in minutes}
    for job_id, rank in ranks.items():
        job = week.jobs[job_id]
        if job.partition not in limits:
            continue
        for run in job.runs:
            for minute in _within(minutes, run.start, run.ended or end):
                take(found[minute], (job.partition, rank, job.seen.user), run.held)
    yield from found.items()


def _minutes(week: PlayedWeek, end: int) -> Iterator[int]:
    closely = (end - CLOSELY) // EVERY * EVERY
    yield from range(-(-week.begin // EVERY) * EVERY, closely, EVERY)
    yield from range(closely, end, MINUTE)


def _within(minutes: list[int], start: int, end: int) -> list[int]:
    """Those from the start to before the end."""
    return minutes[bisect_left(minutes, start) : bisect_left(minutes, end)]


log = structlog.get_logger(__name__)

_Facts = Mapping[str, PartitionFacts]


def make_week(seed: int = DEFAULT_SEED) -> bool:
    """Make up the past of a demonstration that begins now; false, and nothing done, anywhere else.

    Plans, jobs and the audit log are written in one transaction: a start that is interrupted before its end leaves
    nothing, and the next one does it. The record and the forecasts come after it, each in its own, so that nobody who
    signs in meanwhile waits for all of it. The scenario begins when it is written: nothing comes between the two.
    """
    cluster = configured_cluster()
    port = connect(cluster)
    if not is_first_start(cluster) or not isinstance(port, StoredSimulator):
        return False
    partitions, projects = partition_policies(cluster), core_projects(cluster)
    now = int(clock.now().timestamp())
    week, seen = played_week(partitions, projects, (now - demo.WARM_UP_S) // MINUTE * MINUTE, seed)
    with transaction.atomic():
        _add_first_hour(week, partitions, projects, port.reset())
        setting = Setting(cluster, partitions, projects, seen)
        jobs, stops = _write(setting, week, seed)
    write_minutes(setting, week, jobs, stops)
    write_quotas(setting, week, jobs)
    RecordedObservation.objects.bulk_create(
        RecordedObservation(cluster=cluster, at=clock.from_epoch(moment), jobs=count, body=body)
        for moment, (count, body) in week.looks.items()
    )
    write_forecasts(cluster, week, jobs, seed)
    sum_up(cluster)
    keep_losses(cluster)
    sum_unevenness(cluster)
    log.info("a week of a made-up past is written", plans=len(week.plans), jobs=len(week.jobs))
    return True


def played_week(
    partitions: _Facts, projects: Sequence[ProjectFacts], until: int, seed: int
) -> tuple[PlayedWeek, Observation]:
    """The week before `until`, and the cluster as it stands then. The same arguments, the same week."""
    cluster = demo_week.week(until, seed)
    week = PlayedWeek(cluster.now, until)
    player = Player(cluster, partitions, projects, week)
    player.play(until, demo_week.next_urgent)
    mark_mishaps(week)
    week.close()
    return week, look(cluster.state)


def _add_first_hour(week: PlayedWeek, partitions: _Facts, projects: Sequence[ProjectFacts], now: int) -> None:
    """The hour in which the scenario filled its cluster: it keeps who is there in the end, and forgets the others."""
    cluster = SimulatedCluster(demo.opened(now - demo.WARM_UP_S, DEFAULT_SEED, demo.FIRST_JOB))
    hour = PlayedWeek(cluster.now, now)
    player = Player(cluster, partitions, projects, hour)
    for _ in demo.warm_up(cluster, DEFAULT_SEED):
        player.look_once_a_minute()
    week.jobs |= hour.jobs
    week.minutes += hour.minutes


def _write(
    setting: Setting, week: PlayedWeek, seed: int
) -> tuple[list[Job], Mapping[int, list[MeteredStop]]]:
    """The jobs, the plans with their audit rows, and that all is made up. Returned: rows of the jobs, and the stops by
    minute."""
    cluster, plans = setting.cluster, PlanRows(setting.cluster, week)
    began = clock.now() - SET_UP_BEFORE
    write_figures(cluster, setting.seen, began + timedelta(hours=1), seed)
    plans.write()
    jobs = write_jobs(setting, week.jobs.values(), times_stopped(week))
    PolicyRevision.objects.filter(partition__cluster=cluster).update(created_at=began)
    cluster.cycle, cluster.made_up_until = plans.cycle_at(week.until), clock.now()
    cluster.save(update_fields=["cycle", "made_up_until"])
    return jobs, plans.stops
