"""With which level a job would have somebody to stop, where nobody who runs makes room for it."""

from django.utils.translation import gettext as _

from console.cluster.models import Job
from console.steering.explanations.answer import AnswerLine
from console.steering.explanations.known import Known
from console.steering.explanations.wording import who
from scheduler.model.policy import Mode, PartitionPolicy
from scheduler.preemption.sentences import clean


def higher(known: Known, row: Job) -> AnswerLine:
    """With which level it would reach somebody; whether that made enough room is another question."""
    policy, lowest = known.policies.get(row.partition), known.lowest.get(row.partition)
    if policy is None or lowest is None:
        return AnswerLine(_("It starts when a running job ends."))
    by_user = policy.mode in {Mode.USER, Mode.USER_THEN_TASK}
    rank = _top_of_band(policy, lowest.user_level if by_user else lowest.task_level)
    if rank == 0:
        return AnswerLine(_("It starts when a running job ends."))
    facts_of = {
        "job": who(lowest.job_id, lowest.user),
        "axis": _("user level") if by_user else _("task level"),
        "level": clean(policy.levels[rank].name) if rank is not None else _("none"),
    }
    text = _("A higher %(axis)s than %(level)s might change that: then %(job)s could be stopped for it.")
    return AnswerLine(text % facts_of)


def _top_of_band(policy: PartitionPolicy, rank: int | None) -> int | None:
    """The highest level of those that a level shares its band with: whoever is above it stops them."""
    for band in policy.bands or ():
        if rank in band:
            return min((each for each in band if each is not None), default=None)
    return rank
