"""Begin times of our own: a job that is to start on chosen nodes does not begin before these are kept for it.

Slurm starts what has room at once, wherever it likes. So such a job has a begin time some seconds off, set by
slurmctld's job_submit script (docs/job-submit.md) or by `ActionKind.BEGIN`, and the same moment in its AdminComment
(`admin_comments`), which its user cannot write. Where the two are the same the begin time is ours; a user who sets
another one takes it from us. When it is over and nobody has renewed it, Slurm starts the job like any other.

Tried on 22.05.8, 24.11.5 and 26.05.5: EligibleTime is the begin time; of a job whose begin time becomes past it runs
0.8 to 1 s later; `AdminComment=` takes the comment away.
"""

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

from scheduler.adapters.slurm.admin_comments import AT_ONCE, SEPARATOR, by_comment, read_admin_comments
from scheduler.adapters.slurm.commands import CommandRunner
from scheduler.adapters.slurm.errors import shortened
from scheduler.adapters.slurm.rows import QueueRow
from scheduler.model.actions import Action, ActionOutcome, OutcomeKind
from scheduler.model.jobs import JobState, ObservedJob
from scheduler.model.sentence import say

MARK = "giveway-place:"
"""Then comes the begin time, epoch seconds."""
_MARKED = re.compile(rf"(?:^|{SEPARATOR}){MARK}(\d{{1,12}})(?:$|(?={SEPARATOR}))", re.ASCII)
OFF_BY_S = 2
"""So far the two may be apart: the script reads the clock, and slurmctld again."""
SOON_S = 120
"""A begin time that is farther off is nobody's but its user's."""
BEGIN_TIME = "begintime"
NOT_TOLD = ActionOutcome(OutcomeKind.UNKNOWN, "what stands in its AdminComment was not told")

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
    comments = read_admin_comments(runner, job_ids)
    return None if comments is None else _moments(comments)


def _moments(comments: Mapping[str, str]) -> dict[str, int]:
    return {job_id: int(found[1]) for job_id, said in comments.items() if (found := _MARKED.search(said))}


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
        try:
            comments = self._comments(ids)
        except Exception as error:  # noqa: BLE001 - every action has to be answered
            return dict.fromkeys(ids, ActionOutcome(OutcomeKind.UNKNOWN, shortened(str(error))))
        delayed = [job_id for job_id in ids if seen[job_id].reason.lower() == BEGIN_TIME]
        done = {job_id: NOT_TOLD for job_id in ids if job_id not in comments} | self._refused(
            [job_id for job_id in delayed if job_id in comments], _moments(comments), seen
        )
        begin = f"StartTime={datetime.fromtimestamp(moment, UTC):%FT%T}"
        mark = f"{MARK}{moment}" if moment > self.now() else ""
        due = {job_id: mark for job_id in ids if job_id not in done}
        marking = by_comment(comments, due)
        for text, some in marking.items():
            words = (begin, f"AdminComment={text}")
            done.update(self.many("scontrol", some, "update", each="JobId=", more=words))
        left = [job_id for job_id in due if job_id not in done]
        if mark:  # Without its mark nobody would know whose begin time it is.
            return {**done, **dict.fromkeys(left, ActionOutcome(OutcomeKind.REFUSED, say("begin.no_room")))}
        return {**done, **self.many("scontrol", left, "update", each="JobId=", more=(begin,))}

    def _comments(self, ids: Sequence[str]) -> dict[str, str]:
        """What stands in the jobs' AdminComments, of those of which Slurm tells it."""
        found: dict[str, str] = {}
        for first in range(0, len(ids), AT_ONCE):
            found.update(read_admin_comments(self.runner, ids[first : first + AT_ONCE]) or {})
        return found

    def _refused(
        self, delayed: Collection[str], moments: Mapping[str, int], seen: Mapping[str, QueueRow]
    ) -> dict[str, ActionOutcome]:
        """Of jobs that wait for a moment: those whose moment is not ours."""
        refused = ActionOutcome(OutcomeKind.REFUSED, say("begin.theirs"))
        return {
            job_id: refused
            for job_id in delayed
            if abs(moments.get(job_id, 0) - (seen[job_id].eligible or 0)) > OFF_BY_S
        }
