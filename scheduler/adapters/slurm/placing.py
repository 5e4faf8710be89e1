"""Begin times of our own: a job that is to start on chosen nodes does not begin before these are kept for it.

Slurm starts what has room at once, wherever it likes. So such a job has a begin time some seconds off, set by
slurmctld's job_submit script (docs/job-submit.md) or by `ActionKind.BEGIN`, and the same moment in its AdminComment,
which its user cannot write. Where the two are the same the begin time is ours; a user who sets another one takes it
from us. When it is over and nobody has renewed it, Slurm starts the job like any other.

Tried on 22.05.8, 24.11.5 and 26.05.5: EligibleTime is the begin time; of a job whose begin time becomes past it runs
0.8 to 1 s later; `AdminComment=` takes the comment away.
"""

import secrets
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

from scheduler.adapters.slurm.commands import CommandRunner
from scheduler.adapters.slurm.errors import SlurmUnavailableError, shortened
from scheduler.adapters.slurm.rows import QueueRow
from scheduler.model.actions import Action, ActionOutcome, OutcomeKind
from scheduler.model.jobs import JobState, ObservedJob
from scheduler.model.sentence import say

MARK = "giveway-place:"
"""Then comes the begin time, epoch seconds."""
OFF_BY_S = 2
"""So far the two may be apart: the script reads the clock, and slurmctld again."""
SOON_S = 120
"""A begin time that is farther off is nobody's but its user's."""
AT_ONCE = 400
"""So many jobs are asked for in one call."""
BEGIN_TIME = "begintime"

Many = Callable[..., dict[str, ActionOutcome]]
"""One command for many jobs, with an outcome for each (`write.Writer`)."""


@dataclass(slots=True)
class BeginMarks:
    """Finds the jobs whose begin time is ours. What was told of a begin time stays so, and is not asked for again."""

    runner: CommandRunner
    _known: dict[tuple[str, int], bool] = field(default_factory=dict, init=False)

    def told(self, jobs: Sequence[ObservedJob], now: int) -> list[ObservedJob]:
        """The jobs, those among them marked that wait to be placed. Raises nothing: what is not told is not ours."""
        due = {(job.id, job.eligible or 0) for job in jobs if _may_be_ours(job, now)}
        if not due:
            return list(jobs)
        self._known = {key: ours for key, ours in self._known.items() if key in due}
        asked = sorted(key for key in due if key not in self._known)
        moments = marked(self.runner, [job_id for job_id, _ in asked])
        if moments is not None:
            self._known.update(
                {key: abs(moments.get(key[0], 0) - key[1]) <= OFF_BY_S for key in asked[:AT_ONCE]}
            )
        return [
            replace(job, to_be_placed=True) if self._known.get((job.id, job.eligible or 0)) else job
            for job in jobs
        ]


def _may_be_ours(job: ObservedJob, now: int) -> bool:
    waits = job.state is JobState.PENDING and job.eligible is not None and job.batch
    return waits and not (job.array_job_id or job.het_job_id) and now < (job.eligible or 0) <= now + SOON_S


def marked(runner: CommandRunner, job_ids: Sequence[str]) -> dict[str, int] | None:
    """The moments in the marks of these jobs, of those that have one; None when Slurm does not tell."""
    wanted = job_ids[:AT_ONCE]
    if not wanted:
        return {}
    mark = "g" + secrets.token_hex(5)
    fields = f"--Format=JobArrayID:|,admin_comment:{mark};"
    try:
        answer = runner.run(
            "squeue",
            "--noheader",
            "--array",
            "--all",
            "--local",
            fields,
            "--states=all",
            f"--jobs={','.join(wanted)}",
        )
    except SlurmUnavailableError:
        return None
    if answer.code != 0:
        return None
    found: dict[str, int] = {}
    for record in answer.out.split(f"{mark};\n"):
        job_id, _, said = record.partition("|")
        moment = said.removeprefix(MARK)
        if moment != said and moment.isascii() and moment.isdecimal():
            found[job_id] = int(moment)
    return found


@dataclass(frozen=True, slots=True)
class Beginner:
    """Sets begin times: some seconds off, with the mark, or a moment that is past, without."""

    runner: CommandRunner
    many: Many
    now: Callable[[], float]

    def carry_out(self, actions: Sequence[Action], seen: Mapping[str, QueueRow]) -> dict[str, ActionOutcome]:
        """One group with one moment. A begin time that is not ours is left alone."""
        ids = list(dict.fromkeys(action.run.job_id for action in actions))
        moment = int(actions[0].value)
        done = self._refused([job_id for job_id in ids if seen[job_id].reason.lower() == BEGIN_TIME], seen)
        begin = f"StartTime={datetime.fromtimestamp(moment, UTC):%FT%T}"
        words = f"AdminComment={MARK}{moment}" if moment > self.now() else "AdminComment="
        due = [job_id for job_id in ids if job_id not in done]
        return {**done, **self.many("scontrol", due, "update", each="JobId=", more=(begin, words))}

    def _refused(self, delayed: Collection[str], seen: Mapping[str, QueueRow]) -> dict[str, ActionOutcome]:
        """Of jobs that wait for a moment: those whose moment is not ours."""
        try:
            moments = marked(self.runner, sorted(delayed))
        except Exception as error:  # noqa: BLE001 - every action has to be answered
            return dict.fromkeys(delayed, ActionOutcome(OutcomeKind.UNKNOWN, shortened(str(error))))
        if moments is None:
            words = "whose begin time it is was not told"
            return dict.fromkeys(delayed, ActionOutcome(OutcomeKind.UNKNOWN, words))
        refused = ActionOutcome(OutcomeKind.REFUSED, say("begin.theirs"))
        return {
            job_id: refused
            for job_id in delayed
            if abs(moments.get(job_id, 0) - (seen[job_id].eligible or 0)) > OFF_BY_S
        }
