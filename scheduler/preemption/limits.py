"""What holds a stop back: pauses, waits, and how many jobs may be stopped within an hour.

1. Victims are looked for as if there were no limit, but for the jobs of users whose hour is used up: they are spared.
2. Where somebody paused the partition, or the pending job has not waited long enough, was stopped itself a moment
   ago, or ended badly at once too often, nobody is stopped; the victims that were found are named.
3. Would more jobs of a user be stopped than the hour has left, or somebody who would come back above the pending job
   (`returning`), these are spared too and victims are looked for again; a few times.
4. If then nobody is found, or more than the hour has left for the partition, nobody is stopped: never a part of them.
5. What is spared for one pending job only may be stopped for the next. How much of that a plan does is bounded.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from scheduler.model.jobs import SnapshotJob
from scheduler.model.reasons import Reason
from scheduler.model.snapshot import Snapshot
from scheduler.preemption.cluster_state import ClusterState
from scheduler.preemption.multi_node_search import MadeRoom
from scheduler.preemption.node_state import RunningJob
from scheduler.preemption.ranking import PreemptionScope
from scheduler.preemption.returning import Returning
from scheduler.preemption.search import RoomSearch, Wanted
from scheduler.preemption.tallies import Below

MOST_LOOKS = 6
"""How often victims are looked for again for one job."""
MOST_SPARED = 20_000
"""How many times, in one plan, a job may be spared or allowed for the sake of one decision."""


_NOT_ASKED = object()


@dataclass(frozen=True, slots=True)
class HeldBack:
    """Why victims that were found may not be stopped. `user`: whose limit it is, for an hourly one of a user."""

    reason: Reason
    user: str = ""
    used: int = 0


@dataclass(frozen=True, slots=True)
class Found:
    """Who would have to go, and why that may not be (None: it may). `alone`: who is left alone for this job only."""

    room: MadeRoom
    held: HeldBack | None = None
    alone: Mapping[RunningJob, Reason] = field(default_factory=dict)


class StopLimits:
    """The limits of one plan, with what is left of the hour."""

    def __init__(
        self, snapshot: Snapshot, cluster_state: ClusterState, search: RoomSearch, returning: Returning
    ) -> None:
        self._now = snapshot.now
        self._rules = snapshot.partition
        self._cluster_state = cluster_state
        self._search = search
        self._returning = returning
        self._used = self._rules.stopped
        self._used_by = Counter(self._rules.stopped_by_user)
        self._theirs: dict[str, list[RunningJob]] = {}
        self._effort = MOST_SPARED
        self._answers: dict[Wanted, Found | None] = {}
        if self._rules.max_stops_per_user_hour is not None:
            for runner in cluster_state.runners:
                self._theirs.setdefault(runner.job.user, []).append(runner)
            self._spare_used_up(self._theirs)

    def victims(self, job: SnapshotJob, wanted: Wanted, below: Below) -> Found | None:
        """Who would have to go for a pending job, and whether they may be stopped; None when nobody would do.

        `below`: all that it outranks.
        """
        if self._answers.get(wanted, _NOT_ASKED) is None:
            return None  # Nothing has changed since, and whom it was for makes no difference.
        room = self._search.victims(wanted) if below.stoppable else None
        held = self.of_the_job(job) if room else None
        if room and held:
            return Found(room, held)
        if wanted not in self._answers:
            found = self._within_limits(wanted, room) if room else self._but_for_users(wanted, below)
            if found and not found.held:
                return found
            self._answers[wanted] = found
        return self._answers[wanted]

    def allows(self, job: SnapshotJob, runners: int) -> bool:
        """Whether so many may be interrupted for a pending job, without being stopped for good."""
        most = self._rules.max_stops_per_hour
        return self.of_the_job(job) is None and (most is None or self._used + runners <= most)

    def over(self, victims: Sequence[RunningJob]) -> HeldBack | None:
        """The limit within an hour that so many victims together would break."""
        most = self._rules.max_stops_per_hour
        if most is not None and self._used + len(victims) > most:
            return HeldBack(Reason.HOURLY_LIMIT, used=self._used)
        if self._rules.max_stops_per_user_hour is None:
            return None
        by_user = Counter(runner.job.user for runner in victims)
        user = next((user for user, count in by_user.items() if count > self._left(user)), None)
        return None if user is None else HeldBack(Reason.HOURLY_LIMIT, user, self._used_by[user])

    def changed(self) -> None:
        """Room was taken or made: what was answered before holds no longer."""
        self._answers.clear()

    def stopped(self, scope: PreemptionScope, victims: Sequence[RunningJob]) -> None:
        """These are stopped; what they use up of the hour is gone for those decided later."""
        self._returning.stopped(scope, victims)
        self._used += len(victims)
        users = [runner.job.user for runner in victims]
        self._used_by.update(users)
        if self._rules.max_stops_per_user_hour is not None:
            self._spare_used_up(set(users))

    def of_the_job(self, job: SnapshotJob) -> HeldBack | None:
        """Step 2: what forbids that anybody gives way for this job just now."""
        rules = self._rules
        if rules.paused:
            return HeldBack(Reason.PAUSED)
        if rules.max_crashes_per_hour is not None and job.crashes >= rules.max_crashes_per_hour:
            return HeldBack(Reason.CRASHES)
        if job.stopped_at is not None and self._now - job.stopped_at < rules.cool_down_s:
            return HeldBack(Reason.COOL_DOWN)
        if self._now - job.submit < rules.min_wait_s:
            return HeldBack(Reason.TOO_SOON)
        return None

    def _within_limits(self, wanted: Wanted, first: MadeRoom) -> Found:
        """Steps 3 and 4."""
        room: MadeRoom | None = first
        alone: dict[RunningJob, Reason] = {}
        held: HeldBack | None = None
        for _ in range(MOST_LOOKS):
            more = self._too_many(room.price.victims) if room else {}
            if room is None or not (more := more | self._above(wanted, room)):
                break
            held = held or self._why(more)
            if not self._afford(len(more)):
                room = None
                break
            for runner, reason in more.items():
                self._cluster_state.spare(runner, reason.value)
            alone |= more
            room = self._search.victims(wanted)
        else:
            room = None
        for runner in alone:
            self._cluster_state.allow(runner)
        if room is None:
            return Found(first, held, alone)
        most = self._rules.max_stops_per_hour
        if most is not None and self._used + len(room.price.victims) > most:
            return Found(room, HeldBack(Reason.HOURLY_LIMIT, used=self._used), alone)
        return Found(room, None, alone)

    def _but_for_users(self, wanted: Wanted, below: Below) -> Found | None:
        """Nobody may be stopped who would do: is it because of users whose hour is used up?"""
        if not below.limited:
            return None
        spared = [
            runner
            for user, runners in self._theirs.items()
            if self._left(user) <= 0
            for runner in runners
            if runner.spared == Reason.USER_LIMIT
        ]
        if not self._afford(len(spared)):
            return None
        for runner in spared:
            self._cluster_state.allow(runner)
        room = self._search.victims(wanted)
        for runner in spared:
            self._cluster_state.spare(runner, Reason.USER_LIMIT.value)
        if room is None:
            return None
        user = next(r.job.user for r in room.price.victims[::-1] if r.spared)
        return Found(room, HeldBack(Reason.HOURLY_LIMIT, user, self._used_by[user]))

    def _too_many(self, victims: Sequence[RunningJob]) -> dict[RunningJob, Reason]:
        """Of the users who would lose more jobs than they may: all jobs but the first to go of these victims."""
        result: dict[RunningJob, Reason] = {}
        if self._rules.max_stops_per_user_hour is None:
            return result
        for user, count in Counter(runner.job.user for runner in victims).items():
            left = self._left(user)
            if count > left:
                # The most valuable of the victims are in front.
                theirs = [runner for runner in victims if runner.job.user == user]
                kept = set(theirs[count - left :])
                rest = (runner for runner in self._theirs[user] if runner.may_go and runner not in kept)
                result |= dict.fromkeys(rest, Reason.USER_LIMIT)
        return result

    def _above(self, wanted: Wanted, room: MadeRoom) -> dict[RunningJob, Reason]:
        """Those of the victims who would come back ranked above the pending job."""
        return dict.fromkeys(self._returning.among(wanted.scope, room.price.victims), Reason.COMES_BACK)

    def _why(self, more: Mapping[RunningJob, Reason]) -> HeldBack:
        """Why victims that were found first may not be stopped, should no others be found."""
        limited = next((runner for runner, reason in more.items() if reason is Reason.USER_LIMIT), None)
        if limited is None:
            return HeldBack(Reason.NO_LASTING_ROOM)
        user = limited.job.user
        return HeldBack(Reason.HOURLY_LIMIT, user, self._used_by[user])

    def _left(self, user: str) -> int:
        return (self._rules.max_stops_per_user_hour or 0) - self._used_by[user]

    def _spare_used_up(self, users: Iterable[str]) -> None:
        """Step 1."""
        for user in users:
            if self._left(user) <= 0:
                for runner in self._theirs.get(user, ()):
                    if runner.may_go:
                        self._cluster_state.spare(runner, Reason.USER_LIMIT.value)

    def _afford(self, runners: int) -> bool:
        """Whether so many may still be spared for one decision; counts them."""
        self._effort -= runners
        return self._effort >= 0
