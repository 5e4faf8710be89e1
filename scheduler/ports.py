"""The seam between Giveway and a cluster: five methods, two adapters, one contract suite (tests/contract)."""

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Protocol

from scheduler.model.actions import Action, ActionOutcome
from scheduler.model.benchmarks import Benchmark
from scheduler.model.endings import Ending
from scheduler.model.observation import ClusterInfo, Glance, Observation


def always() -> bool:
    """Whoever alone tells the cluster what to do may do so at any time."""
    return True


class ClusterUnavailableError(Exception):
    """The cluster cannot be read at all just now; the message says why in one sentence. Nothing was changed."""


class BenchmarkRefusedError(Exception):
    """The cluster takes no such benchmark; the message is its own. Nothing was submitted."""


class BenchmarkPort(Protocol):
    """A cluster on which processors can be measured. The simulator is none."""

    def submit(self, benchmark: Benchmark) -> str:
        """Submit it; the job's id. Raises `BenchmarkRefusedError`, `ClusterUnavailableError`: then nobody knows."""
        ...

    def end(self, job_ids: Collection[str]) -> None:
        """End such jobs; one that is over is none of its concern. Raises `ClusterUnavailableError`."""
        ...


class NodePort(Protocol):
    """A cluster whose nodes can be taken out of service and put back; one at a time, by a person's wish.

    Neither raises for what the cluster answers. `reason` begins with `DRAIN_MARK` and is the only one of its kind: by
    it a node is known as the one that was drained with it.
    """

    def drain(self, node: str, reason: str) -> ActionOutcome:
        """No new jobs there; those that run go on. REFUSED where somebody else has drained it: `detail` has why."""
        ...

    def put_back(self, node: str, reason: str) -> ActionOutcome:
        """New jobs there again. REFUSED where it is drained for another reason; ALREADY where it is not drained."""
        ...


class ClusterPort(Protocol):
    """A named cluster that can be looked at and changed."""

    def describe(self) -> ClusterInfo:
        """Name, kind and version. Raises `ClusterUnavailableError`."""
        ...

    def observe(self, *, quick: bool = False) -> Observation:
        """Everything at one moment. Raises `ClusterUnavailableError`; partial answers come back as `faults`.

        `quick`: jobs as they are now; nodes, partitions and reservations may be those of some seconds ago, if asking
        for them costs the cluster anything. Nobody is to be stopped on such a look (`Observation.is_quick`).
        """
        ...

    def glance(self) -> Glance:
        """What tells whether something has happened, far cheaper than `observe`. Raises `ClusterUnavailableError`."""
        ...

    def ended(self, job_ids: Collection[str]) -> Mapping[str, Ending]:
        """What became of jobs that are seen no more; one of which nothing is known is left out.

        Raises `ClusterUnavailableError` and nothing else: an answer that is not understood is `untold`.
        """
        ...

    def apply(
        self, actions: Sequence[Action], may_act: Callable[[], bool] = always
    ) -> Sequence[ActionOutcome]:
        """Carry out actions of one kind together where the cluster can (one call for many jobs), one outcome each.

        `may_act` is asked right before each command that changes something: when it says no nothing more is sent, and
        what was not sent is `unknown`.
        Never raises for what the cluster answers: a refusal, a missing job or a time-out is an `Outcome`.
        Idempotent: applying an action whose wished state holds already answers `already`. An action aimed at a
        run that is over answers `gone` and touches nothing.
        """
        ...
