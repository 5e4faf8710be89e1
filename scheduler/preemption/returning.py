"""No ping-pong: who would come back ranked above the job that it made room for is left alone.

A running job beyond its quota counts as unconfigured and is the first to yield. Stopped, it waits like any other job
beyond the quota: last, and as unconfigured, because running jobs keep what the quota allows. But when enough of that
comes free in the same plan it comes back with its real levels, and could then stop the very job that it was stopped
for. So
1. such a job is stopped only when it then stays beyond the quota, or when its real levels are below the other's too;
2. once one was stopped because it stays beyond, no later decision frees so much that it would be within the quota.
"""

from collections import Counter
from collections.abc import Sequence

from scheduler.preemption.node_state import RunningJob
from scheduler.preemption.quotas import Meter, Quotas, Share
from scheduler.preemption.ranking import PreemptionScope, Ranking


class Returning:
    """What one plan has to keep in mind for those who come back; `demoted`: jobs beyond their quotas."""

    def __init__(self, ranking: Ranking, quotas: Quotas, demoted: frozenset[str]) -> None:
        self._ranking = ranking
        self._quotas = quotas
        self._demoted = demoted
        self._relied_on: dict[Meter, set[Share]] = {}
        """By limit, the shares of those who were stopped because they stay beyond it."""

    def among(self, scope: PreemptionScope, victims: Sequence[RunningJob]) -> list[RunningJob]:
        """Those of some victims who must be left alone."""
        if not self._demoted:
            return []
        shares = [self._quotas.share(runner.job) for runner in victims]
        leaving: Counter[Meter] = Counter()
        for share in shares:
            for meter, taken in share:
                leaving[meter] += taken
        needed = self._needed(leaving)
        return [
            runner
            for runner, share in zip(victims, shares, strict=True)
            if any(meter in needed for meter, _ in share)
            or (share and self._would_outrank(scope, runner) and not self._quotas.stays_over(share, leaving))
        ]

    def stopped(self, scope: PreemptionScope, victims: Sequence[RunningJob]) -> None:
        """These are stopped: whoever of them must stay beyond the quota relies on what is taken of it."""
        if not self._demoted:
            return
        for runner in victims:
            share = self._quotas.share(runner.job)
            if share and self._would_outrank(scope, runner):
                for meter, _ in share:
                    self._relied_on.setdefault(meter, set()).add(share)

    def _needed(self, leaving: Counter[Meter]) -> set[Meter]:
        """The limits of which so much must not be given up, for the sake of those who were stopped before."""
        return {
            meter
            for touched in leaving
            for share in self._relied_on.get(touched, ())
            if not self._quotas.stays_over(share, leaving)
            for meter, _ in share
        }

    def _would_outrank(self, scope: PreemptionScope, runner: RunningJob) -> bool:
        """Whether a victim, with the levels that it really has, is not below the job that it makes room for."""
        return runner.job.id in self._demoted and scope.class_of(*self._ranking.weights(runner.job)) is None
