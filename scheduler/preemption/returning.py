"""No ping-pong: who would come back ranked above the job that it made room for is left alone.

A running job beyond its user's quota counts as unconfigured and is the first to yield. Stopped, it waits like any other
job beyond the quota: last, and as unconfigured, because its user's running jobs keep the slots. But when a slot comes
free in the same plan it comes back with its real levels, and could then stop the very job that it was stopped for. So
1. such a job is stopped only when its user stays at the quota, or when its real levels are below the other's too;
2. once one was stopped because its user stays at the quota, no later decision takes a slot of that user's away.
"""

from collections import Counter
from collections.abc import Sequence

from scheduler.preemption.quotas import Quotas, Slots
from scheduler.preemption.ranking import Ranking, Reach
from scheduler.preemption.universe import Runner


class Returning:
    """What one plan has to keep in mind for those who come back; `demoted`: jobs beyond their users' quotas."""

    def __init__(self, ranking: Ranking, quotas: Quotas, demoted: frozenset[str]) -> None:
        self._ranking = ranking
        self._quotas = quotas
        self._demoted = demoted
        self._relied_on: set[Slots] = set()

    def among(self, reach: Reach, victims: Sequence[Runner]) -> list[Runner]:
        """Those of some victims who must be left alone."""
        if not self._demoted:
            return []
        leaving = Counter(key for runner in victims if (key := self._quotas.key(runner.job)))
        result = []
        for runner in victims:
            key = self._quotas.key(runner.job)
            if key is None or self._quotas.is_full(key, leaving[key]):
                continue
            if key in self._relied_on or self._would_outrank(reach, runner):
                result.append(runner)
        return result

    def stopped(self, reach: Reach, victims: Sequence[Runner]) -> None:
        """These are stopped: whoever of them must stay beyond the quota relies on the user's slots."""
        if not self._demoted:
            return
        for runner in victims:
            key = self._quotas.key(runner.job)
            if key and self._would_outrank(reach, runner):
                self._relied_on.add(key)

    def _would_outrank(self, reach: Reach, runner: Runner) -> bool:
        """Whether a victim, with the levels that it really has, is not below the job that it makes room for."""
        return runner.job.id in self._demoted and reach.class_of(*self._ranking.weights(runner.job)) is None
