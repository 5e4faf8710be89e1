"""`apply()`: one look at the jobs, then one call for as many of them as possible, and an outcome for each.

1. Actions are grouped by kind (and value), in the order given.
2. All jobs of the group are looked at in one squeue; `guard.verdict` answers those that must not be touched.
3. The rest goes to Slurm in one command. A bad job in a list does not hinder the others; scontrol and scancel
   name it in their messages, and each message is given to its job.
4. Whatever goes wrong with the connection, and whatever is not understood, is "unknown": nobody knows what was done,
   the caller has to look.
"""

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from typing import Protocol

from scheduler.adapters.slurm import arrays, guard, holds, look, recover
from scheduler.adapters.slurm.admin_comments import by_comment, read_admin_comments
from scheduler.adapters.slurm.allowed import KEPT_FOR, is_job_id, is_signal
from scheduler.adapters.slurm.commands import CommandRunner
from scheduler.adapters.slurm.errors import (
    SlurmUnavailableError,
    complaints,
    not_understood,
    outcome_of,
    shortened,
)
from scheduler.adapters.slurm.holds import REQUEUE_DELAY_S, is_delayed
from scheduler.adapters.slurm.jobs import state_of
from scheduler.adapters.slurm.look import LookResult
from scheduler.adapters.slurm.placing import Beginner
from scheduler.adapters.slurm.resizing import Resizer
from scheduler.adapters.slurm.rows import QueueRow
from scheduler.model.actions import (
    BY_NICE,
    FIRST_ALLOW,
    MOST_NICE,
    NOT_HELD,
    NOT_REQUEUEABLE,
    TO_ALL,
    TO_STEPS,
    TOO_LATE,
    Action,
    ActionKind,
    ActionOutcome,
    OutcomeKind,
    is_for_next,
    kept_of,
)
from scheduler.model.line import unniced
from scheduler.model.observation import Resizing
from scheduler.ports import always

# --- Keeping nodes for a job that waits: short reservations of our own, one per job, that end by themselves ---
# What was tried on 22.05.8, 24.11.5 and 26.05.5 (docs/methods/reservation.md tells it whole):
#
# - `IGNORE_JOBS`: nodes may be kept on which others still run; these go on.
# - `FLEX`: the job may start before the end of the reservation and run on beyond it, and may also use other nodes;
# those
#   of the reservation are tried first. Without it slurmctld ends the job with the reservation.
# - `NO_HOLD_JOBS_AFTER`: a job that still waits when the reservation ends waits on like any other. Without it slurmctld
#   holds the job for good.
# - A reservation is not deleted while a job is in it, waiting or running: the job is taken out first. A running one may
#   be, and goes on.
# - A job that runs is not put into one: what is kept for its next run is in its user's name, and the job joins once it
#   waits.
# - One that has ended stays in the list for up to half a minute, and until then none that shares a node is made.


FLAGS = "Flags=IGNORE_JOBS,FLEX,NO_HOLD_JOBS_AFTER"
DONE = ActionOutcome(OutcomeKind.DONE)
ALREADY = ActionOutcome(OutcomeKind.ALREADY)

Call = Callable[..., dict[str, ActionOutcome]]
"""One command for jobs, with an outcome for each (`write.Writer`)."""


@dataclass(frozen=True, slots=True)
class Keeper:
    """Carries out one group of such actions, job by job."""

    call: Call

    def carry_out(self, actions: Sequence[Action], seen: Mapping[str, QueueRow]) -> dict[str, ActionOutcome]:
        """One outcome per job; `seen`: each as it is now, as far as it is there. Raises nothing."""
        if actions[0].kind is ActionKind.KEEP:
            return {a.run.job_id: self._keep(a, seen[a.run.job_id]) for a in actions}
        return {a.run.job_id: self._let_go(a.run.job_id, seen.get(a.run.job_id)) for a in actions}

    def _keep(self, action: Action, row: QueueRow) -> ActionOutcome:
        job, name = row.id, KEPT_FOR + row.id
        until, nodes = kept_of(action.value)
        what = (f"Nodes={','.join(nodes)}", f"EndTime={datetime.fromtimestamp(until, UTC):%FT%T}")
        renew = (job, "update", f"ReservationName={name}", *what)
        create = (
            *(job, "create", "reservation", f"ReservationName={name}", what[0], "StartTime=now", what[1]),
            *(f"Users={row.user}", FLAGS),
        )
        inside = row.reservation == name
        made = self._one(*(renew if inside else create))
        if not made.ok:
            # It has ended meanwhile; or it is there and the job was taken out of it, which is told like any overlap.
            again = self._one(*(create if inside else renew))
            inside = inside and not again.ok
            made = again if again.ok else made
        if not made.ok or inside or is_for_next(action.value):
            return made
        joined = self._one(job, "update", f"JobId={job}", f"ReservationName={name}")
        if not joined.ok:
            # Nodes that are kept for nobody would only stand idle.
            self._one(job, "delete", f"ReservationName={name}")
        return joined

    def _let_go(self, job: str, row: QueueRow | None) -> ActionOutcome:
        name = KEPT_FOR + job
        if row is not None and row.reservation == name:
            left = self._one(job, "update", f"JobId={job}", "ReservationName=")
            if left.kind is OutcomeKind.UNKNOWN:
                return left
        deleted = self._one(job, "delete", f"ReservationName={name}")
        return ALREADY if deleted.kind is OutcomeKind.GONE else deleted

    def _one(self, job: str, *arguments: str) -> ActionOutcome:
        return self.call("scontrol", [job], *arguments)[job]


# --- Letting held jobs go on: at once, and where wished at a place in line from the first moment ---
# First Slurm's own delay after a requeue is shortened, then the job is released: the other way round it would be waited
# out. A begin time that somebody has set stays. Slurm's is not shortened to nothing: slurmd refuses a job that starts
# in the very second in which it was stopped ("Job credential revoked"), and slurmctld then ends it for good. A
# requeued job's submit time is that of its return to the queue, by slurmctld's own clock; the next second is safe. A
# moment in the past is as good as now.
#
# With a place it is the other way round: Slurm sets none on a held job, so the job is released while its delay still
# keeps it from starting, then gets its place in line and its begin time in one call. A place by nice needs a look in
# between: only then is it known what Slurm computes for the job.


DONE_RELEASING = ActionOutcome(OutcomeKind.DONE)


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
            done = {**dict.fromkeys(ids, DONE_RELEASING), **self.many("scontrol", held, "release")}
            ready = [job_id for job_id in ids if done[job_id].ok]
            if value.startswith(BY_NICE):
                return {**done, **self._by_nice(ready, wanted, frozenset(delayed), begin)}
            return {**done, **self._begin(ready, f"Priority={value}", frozenset(delayed), begin)}
        begun = self.many("scontrol", delayed, "update", each="JobId=", more=(begin,))
        free = [job_id for job_id in held if begun.get(job_id, DONE_RELEASING).ok]
        released = self.many("scontrol", free, "release")
        return {job_id: released.get(job_id, begun.get(job_id, DONE_RELEASING)) for job_id in ids}

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


AT_ONCE = 500
"""Jobs per command; an argument list is bounded, and so is the harm of a time-out."""
MAX_COMMENT = 200
TRIES = 8
"""So often a job is made requeueable right before its requeue, while its user takes that back."""


@dataclass(slots=True)
class Writer:
    """Carries out actions. `extra_s`: how much longer than a read a call may take, per job in it.

    scancel tries again for a minute and a half when a job is just starting ("in transition"): it gets `scancel_s`
    only. The other jobs of its call are signalled at once, in parallel; the outcome of all is then unknown. `ways`: in
    which this cluster gives jobs fewer nodes; by default in none. `delay_s`: how long it lets a requeued job wait.
    """

    runner: CommandRunner
    extra_s: float = 0.1
    scancel_s: float = 5.0
    clock: Callable[[], float] = time.monotonic
    now: Callable[[], float] = time.time
    ways: Callable[[], frozenset[Resizing]] = frozenset
    delay_s: Callable[[], int] = lambda: holds.REQUEUE_DELAY_S
    _until: float = field(default=0.0, init=False)
    _may_act: Callable[[], bool] = field(default=always, init=False)

    def apply(self, actions: Sequence[Action], may_act: Callable[[], bool] = always) -> list[ActionOutcome]:
        """One outcome per action, in order. Never raises, whatever Slurm answers or fails to answer.

        Nothing is begun when the caller may not act any more (its lease is lost, it stood still), nor later than twice
        the time limit of a command from now: whoever comes after it counts on that.
        """
        self._until = (
            self.clock() + 2 * self.runner.timeout_s + self.runner.limit.patience_s(8 * len(actions))
        )
        self._may_act = may_act
        outcomes: dict[int, ActionOutcome] = {}
        for numbers in _groups(actions):
            group = {number: actions[number] for number in numbers}
            try:
                outcomes.update(self._group(group))
            except SlurmUnavailableError as error:
                # Raised only before the first change of the group: later failures are outcomes.
                outcomes.update(dict.fromkeys(group, _unknown(error)))
            except Exception as error:  # noqa: BLE001 - every action has to be answered
                # An answer that no decoder had foreseen. The other groups still have their turn.
                outcomes.update(dict.fromkeys(group, _unknown(not_understood("Slurm's answer", error))))
        return [outcomes[number] for number in range(len(actions))]

    def _group(self, group: dict[int, Action]) -> dict[int, ActionOutcome]:
        outcomes = {number: bad for number, action in group.items() if (bad := _malformed(action))}
        asked = {number: action for number, action in group.items() if number not in outcomes}
        seen = look.at_jobs(self.runner, {action.run.job_id for action in asked.values()})
        ended = {number: action for number, action in asked.items() if _is_to_be_recovered(action, seen)}
        if ended:
            outcomes.update(recover.answers(self.runner, ended))
        due: dict[int, Action] = {}
        for number, action in asked.items():
            answer = outcomes.get(number) or (None if number in ended else self._verdict(action, seen))
            if answer is None:
                due[number] = action
            else:
                outcomes[number] = answer
        if due:
            outcomes.update(self._due(due, seen.jobs))
        return outcomes

    def _verdict(self, action: Action, seen: LookResult[QueueRow]) -> ActionOutcome | None:
        """The outcome of an action that need not, must not or cannot be carried out; None when it is to be."""
        job_id = action.run.job_id
        if job_id in seen.odd:
            return ActionOutcome(OutcomeKind.UNKNOWN, shortened(seen.odd[job_id]))
        if action.kind is ActionKind.LET_GO:
            return None  # Whatever has become of the job, its nodes come free.
        delay_s = self.delay_s() if action.kind is ActionKind.RELEASE else holds.REQUEUE_DELAY_S
        return guard.verdict(action, seen.jobs.get(job_id), delay_s)

    def _due(self, due: dict[int, Action], seen: Mapping[str, QueueRow]) -> dict[int, ActionOutcome]:
        """What is to be carried out, with the comments."""
        actions = list(due.values())
        cancels = actions[0].kind is ActionKind.CANCEL
        if cancels:
            # Before, because Slurm takes no comment on a job that has ended.
            self._comment(action for action in actions if action.comment)
        done = self._carry_out(actions, seen)
        if cancels:
            refused = (a for a in actions if a.comment and done[a.run.job_id].kind is OutcomeKind.REFUSED)
            self._comment(replace(action, comment="") for action in refused)
        else:
            self._comment(action for action in actions if action.comment and done[action.run.job_id].ok)
        return {number: done[action.run.job_id] for number, action in due.items()}

    # --- the kinds ---

    def _carry_out(self, actions: Sequence[Action], seen: Mapping[str, QueueRow]) -> dict[str, ActionOutcome]:
        action, ids = actions[0], list(dict.fromkeys(a.run.job_id for a in actions))
        match action.kind:
            case ActionKind.PRIORITISE | ActionKind.ALLOW_REQUEUE:
                first = action.kind is ActionKind.PRIORITISE
                what = f"Priority={action.value}" if first else "Requeue=1"
                return self._many("scontrol", ids, "update", each="JobId=", more=(what,))
            case ActionKind.RESTORE_PRIORITY | ActionKind.HOLD:
                # A release sets "no priority", which makes slurmctld compute it anew, of a job not held too.
                return self._many("scontrol", ids, "hold" if action.kind is ActionKind.HOLD else "release")
            case ActionKind.PLACE:
                return self._place(ids, seen, f"Nice={action.value}")
            case ActionKind.RELEASE:
                return self._release({a.run.job_id: a for a in actions}, seen)
            case ActionKind.REQUEUE_HOLD | ActionKind.RECOVER:
                return self._stop(ids, seen, action)
            case ActionKind.CANCEL | ActionKind.SIGNAL:
                signalled = action.kind is ActionKind.SIGNAL
                return self._scancel(ids, *(_signal_options(action.value) if signalled else ()))
            case ActionKind.RESIZE | ActionKind.SHRINK:
                looked = partial(look.at_jobs, self.runner)
                return Resizer(self.runner, self._call, looked, self.ways()).resize(actions, seen)
            case ActionKind.KEEP | ActionKind.LET_GO | ActionKind.BEGIN:
                begins = action.kind is ActionKind.BEGIN
                part = Beginner(self.runner, self._many, self.now) if begins else Keeper(self._call)
                return part.carry_out(actions, seen)

    def _release(
        self, actions: Mapping[str, Action], seen: Mapping[str, QueueRow]
    ) -> dict[str, ActionOutcome]:
        theirs = holds.held_by_admins(self.runner, actions, seen)
        wanted = {job_id: action.value for job_id, action in actions.items() if job_id not in theirs}
        if not wanted:
            return theirs
        looked = partial(look.at_jobs, self.runner)
        return theirs | Releasing(self._many, looked, self.now, self.delay_s()).release(wanted, seen)

    def _place(self, ids: list[str], seen: Mapping[str, QueueRow], nice: str) -> dict[str, ActionOutcome]:
        """Tasks that are still one record of their array are named together: named apart each becomes its own."""
        outcomes: dict[str, ActionOutcome] = {}
        for part in _parts(ids):
            names = arrays.together([seen[job_id] for job_id in part])
            outcomes.update(self._call("scontrol", part, "update", f"JobId={','.join(names)}", nice))
        return outcomes

    def _allow_requeue(self, ids: Sequence[str]) -> dict[str, ActionOutcome]:
        return self._many("scontrol", ids, "update", each="JobId=", more=("Requeue=1",))

    def _stop(
        self, ids: Sequence[str], seen: Mapping[str, QueueRow], action: Action
    ) -> dict[str, ActionOutcome]:
        """Requeue jobs held, but those plainly whose next run somebody holds already: that hold stays theirs."""
        runs = action.kind is ActionKind.REQUEUE_HOLD  # else they have ended
        allow = runs and action.value == FIRST_ALLOW
        plain = action.value == NOT_HELD
        theirs = [i for i in ids if runs and not plain and holds.is_held_while_it_runs(seen[i])]
        done: dict[str, ActionOutcome] = {}
        for some in (theirs, [job_id for job_id in ids if job_id not in theirs]):
            off = [job_id for job_id in some if allow and not seen[job_id].requeue]
            verb = "requeue" if plain or some is theirs else "requeuehold"
            done.update(self._requeue(verb, some, off, allow=allow))
        return done

    def _requeue(
        self, verb: str, ids: Sequence[str], off: Sequence[str], *, allow: bool
    ) -> dict[str, ActionOutcome]:
        """Requeue jobs, `off` being those that are not requeueable. With `allow` they are made so right before; again
        and again, for their user may be taking it back again and again."""
        done: dict[str, ActionOutcome] = {}
        for _ in range(TRIES if allow else 1):
            done.update(self._allow_requeue(off if allow else ()))
            ready = [job_id for job_id in ids if done.get(job_id, DONE_RELEASING).ok]
            done.update(self._many("scontrol", ready, verb))
            ids = off = [job_id for job_id in ready if NOT_REQUEUEABLE in done[job_id].detail]
            if not off:
                break
        return done

    def _comment(self, actions: Iterable[Action]) -> None:
        """Leave the actions' comments with their jobs, beside those of users and of other programs.

        A comment is a courtesy: its failure changes no outcome.
        """
        ours = {
            action.run.job_id: "".join(c if c.isprintable() else " " for c in action.comment)[:MAX_COMMENT]
            for action in actions
        }
        for some in _parts(list(ours)):
            present = read_admin_comments(self.runner, some)
            for text, ids in by_comment(present or {}, {job_id: ours[job_id] for job_id in some}).items():
                self._many("scontrol", ids, "update", each="JobId=", more=(f"AdminComment={text}",))

    # --- calls ---

    def _many(
        self, program: str, ids: Sequence[str], verb: str, *, each: str = "", more: Sequence[str] = ()
    ) -> dict[str, ActionOutcome]:
        """`scontrol VERB 1,2,3` or `scontrol update JobId=1,2,3 …`."""
        outcomes: dict[str, ActionOutcome] = {}
        for part in _parts(ids):
            outcomes.update(self._call(program, part, verb, f"{each}{','.join(part)}", *more))
        return outcomes

    def _scancel(self, ids: Sequence[str], *options: str) -> dict[str, ActionOutcome]:
        outcomes: dict[str, ActionOutcome] = {}
        for part in _parts(ids):
            outcomes.update(self._call("scancel", part, *options, *part))
        return outcomes

    def _call(self, program: str, ids: Sequence[str], *arguments: str) -> dict[str, ActionOutcome]:
        """Run one command on several jobs and give each its outcome."""
        patience = self.scancel_s if program == "scancel" else self.runner.timeout_s
        left = self._until - self.clock()
        if left <= 0 or not self._may_act():
            return dict.fromkeys(ids, TOO_LATE)
        limit = min(min(patience, self.runner.timeout_s) + self.extra_s * len(ids), left)
        try:
            answer = self.runner.run(program, *arguments, timeout_s=limit)
        except SlurmUnavailableError as error:
            return dict.fromkeys(ids, _unknown(error))
        if answer.code == 0:
            return dict.fromkeys(ids, DONE_RELEASING)
        said = complaints(answer.err)
        # A message that names no job is about the call; alone with named ones it is their repetition.
        general = outcome_of(said.general[0]) if said.general else None
        if not said.named and general is None:
            general = ActionOutcome(
                OutcomeKind.UNKNOWN, f"{program} failed with status {answer.code} and said nothing"
            )
        whole = (
            DONE_RELEASING
            if said.named and (general is None or general.kind is not OutcomeKind.UNKNOWN)
            else general
        )
        return {i: outcome_of(said.named[i]) if i in said.named else whole or DONE_RELEASING for i in ids}


def _unknown(error: SlurmUnavailableError) -> ActionOutcome:
    return ActionOutcome(OutcomeKind.UNKNOWN, shortened(str(error)))


def _is_to_be_recovered(action: Action, seen: LookResult[QueueRow]) -> bool:
    """Whether a job is to be put back that has ended, as far as is known: `recover` finds out how."""
    if action.kind is not ActionKind.RECOVER or action.run.job_id in seen.odd:
        return False
    row = seen.jobs.get(action.run.job_id)
    try:
        return row is None or state_of(row) is None
    except ValueError:
        return False  # In a state that is not known: `guard` has the words.


def _malformed(action: Action) -> ActionOutcome | None:
    if not is_job_id(action.run.job_id):
        return ActionOutcome(OutcomeKind.REFUSED, "that is no job id")
    if action.kind is ActionKind.SIGNAL and not is_signal(_name_of(action.value)):
        return ActionOutcome(OutcomeKind.REFUSED, "that is no name of a signal")
    return guard.malformed(action)


def _name_of(signal: str) -> str:
    return signal.removesuffix(TO_STEPS).removesuffix(TO_ALL)


def _signal_options(signal: str) -> Sequence[str]:
    """Without a word scancel signals all steps, but not the script."""
    to = () if signal.endswith(TO_STEPS) else ("--full",) if signal.endswith(TO_ALL) else ("--batch",)
    return (*to, f"--signal={_name_of(signal)}")


def _groups(actions: Sequence[Action]) -> Iterator[list[int]]:
    """The numbers of the actions that go together, in the order of their first ones."""
    groups: dict[tuple[ActionKind, str], list[int]] = {}
    for number, action in enumerate(actions):
        value = BY_NICE if action.value.startswith(BY_NICE) else action.value
        groups.setdefault((action.kind, value), []).append(number)
    yield from groups.values()


def _parts(ids: Sequence[str]) -> Iterator[Sequence[str]]:
    for start in range(0, len(ids), AT_ONCE):
        yield ids[start : start + AT_ONCE]
