"""What one cycle keeps at hand: the row that tells of it, if something happened, and the plans that are open."""

from typing import Protocol

from console.cluster.models import Cluster
from console.core import clock
from console.steering.decisions.open_plans import OpenPlans
from console.steering.failures import Failures
from console.steering.models import Cycle, CycleOutcome
from scheduler.model.sentence import say


class KeptReport(Protocol):
    """The part of a cycle's report that is kept."""

    phases: dict[str, float]


class KeptCycle:
    """The cycle's row, made only when something refers to it: most cycles change nothing and are not kept.

    `plans`: the open ones, to be asked for whenever they are needed.
    """

    def __init__(self, cluster: Cluster, number: int, plans: OpenPlans) -> None:
        self.cluster = cluster
        self.plans = plans
        self._number = number
        self._started_at = clock.now()
        self._row: Cycle | None = None

    def row(self) -> Cycle:
        """The row, made at first use."""
        if self._row is None:
            self._close_those_that_died()
            self._row = Cycle.objects.create(
                cluster=self.cluster, number=self._number, started_at=self._started_at
            )
        return self._row

    def _close_those_that_died(self) -> None:
        """Whoever holds the lease knows that no other cycle is under way."""
        Cycle.objects.filter(cluster=self.cluster, outcome=CycleOutcome.RUNNING).update(
            finished_at=self._started_at, outcome=CycleOutcome.FAILED, detail=say("cycle.unfinished")
        )

    def close(self, report: KeptReport, failures: Failures) -> None:
        """Say how it ended, if it is kept."""
        if self._row is not None:
            Cycle.objects.filter(pk=self._row.pk).update(
                finished_at=clock.now(),
                outcome=CycleOutcome.FAILED if failures.found else CycleOutcome.OK,
                detail=failures.found[0].what if failures.found else "",
                phases=report.phases,
            )
