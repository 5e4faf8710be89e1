"""The `Cluster` port over a real Slurm, by its commands (docs/slurm-versions.md says which releases were tried)."""

import os
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager

from scheduler.adapters.slurm import counters, endings, resizing
from scheduler.adapters.slurm.commands import CommandRunner
from scheduler.adapters.slurm.errors import not_understood
from scheduler.adapters.slurm.read import Reader
from scheduler.adapters.slurm.write import Writer
from scheduler.model.actions import Action, ActionKind, ActionOutcome
from scheduler.model.endings import Ending
from scheduler.model.observation import ClusterInfo, Glance, Observation
from scheduler.ports import ClusterUnavailableError, always

TIMEOUT_S = 20.0
OF_MACHINES = frozenset({ActionKind.KEEP, ActionKind.LET_GO})
"""What changes reservations."""


class SlurmCluster:
    """The Slurm that the commands on PATH talk to, as `SLURM_CONF` in `env` says (default: the process's own).

    `name`: what Giveway calls this cluster; None: as it calls itself. `timeout_s`: for each command. `runner`: what
    runs the commands instead (tests put one between Giveway and Slurm).
    It remembers the last observation to read the next one cheaply, so it belongs to one thread at a time; several
    of them, for several clusters or processes, do not disturb one another.
    """

    def __init__(
        self,
        name: str | None = None,
        env: Mapping[str, str] | None = None,
        timeout_s: float = TIMEOUT_S,
        clock: Callable[[], float] = time.time,
        runner: CommandRunner | None = None,
    ) -> None:
        runner = runner or CommandRunner(dict(os.environ if env is None else env), timeout_s)
        self._name = name
        self._runner = runner
        self._reader = Reader(runner, clock)
        self._writer = Writer(
            runner,
            ways=lambda: resizing.ways(self._reader.config()),
            delay_s=lambda: self._reader.config().requeue_delay_s,
        )

    def describe(self) -> ClusterInfo:
        """Name, version and the settings that matter for making room. Raises `ClusterUnavailableError`."""
        with _understood("scontrol's configuration"):
            config = self._reader.fresh_config()
        facts = dict(config.facts or {})
        if config.skew_s:
            facts["ClockDifference"] = f"{config.skew_s} s"
        return ClusterInfo(
            self._name or config.cluster, "slurm", config.version, facts, resizing.ways(config)
        )

    def observe(self, *, quick: bool = False) -> Observation:
        """The whole cluster at one moment. Raises `ClusterUnavailableError`."""
        with _understood("Slurm's answer"):
            return self._reader.observe(self._name, quick=quick)

    def glance(self) -> Glance:
        """slurmctld's counters. Raises `ClusterUnavailableError`."""
        with _understood("sdiag's answer"):
            return counters.glance(self._runner)

    def ended(self, job_ids: Collection[str]) -> Mapping[str, Ending]:
        """What became of jobs, of squeue or of sacct. Raises `ClusterUnavailableError`."""
        with _understood("Slurm's answer"):
            facts = self._reader.config().facts or {}
            return endings.look(self._runner, job_ids, storage=facts.get("AccountingStorageType", ""))

    def apply(
        self, actions: Sequence[Action], may_act: Callable[[], bool] = always
    ) -> Sequence[ActionOutcome]:
        """Carry out actions, those of one kind and value together; see `ClusterPort.apply`."""
        if any(action.kind in OF_MACHINES for action in actions):
            self._reader.forget_machines()
        return self._writer.apply(actions, may_act)


@contextmanager
def _understood(what: str) -> Iterator[None]:
    """Whatever Slurm answers, only `ClusterUnavailableError` comes out: also where no decoder had foreseen it."""
    try:
        yield
    except ClusterUnavailableError:
        raise
    except Exception as error:
        raise not_understood(what, error) from error
