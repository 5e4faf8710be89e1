"""The simulator, in memory and in a file, as the contract suite drives it."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path

from scheduler.adapters.simulator.cluster import SimulatedCluster
from scheduler.adapters.simulator.draining import SimulatorNodes
from scheduler.adapters.simulator.jobs import JobSpec, OnSignal
from scheduler.adapters.simulator.scenarios import scenario
from scheduler.adapters.simulator.state import SimNodeState
from scheduler.adapters.simulator.stored import StoredSimulator
from scheduler.model.jobs import Request
from scheduler.model.observation import Observation
from scheduler.ports import ClusterPort
from tests.contract.harness import PATIENCE_S, Work

NOW = 1_700_000_000


class SimulatorHarness:
    """`opened` gives the simulated cluster behind `cluster`; `pass_time` lets its clock go on."""

    def __init__(
        self,
        cluster: ClusterPort,
        opened: Callable[[], AbstractContextManager[SimulatedCluster]],
        pass_time: Callable[[int], None],
    ) -> None:
        self.cluster = cluster
        self._opened = opened
        self.nodes = SimulatorNodes(opened)
        self.pass_time = pass_time

    def submit(self, work: Work) -> str:
        return self._submit(work, batch=True)

    def submit_interactive(self, work: Work) -> str:
        return self._submit(work, batch=False)

    def cancel(self, job_id: str) -> None:
        with self._opened() as inner:
            assert inner.cancel(job_id), f"there is no job {job_id}"

    def hold(self, user: str, job_id: str) -> None:
        with self._opened() as inner:
            inner.hold_by_user(job_id)

    def release(self, user: str, job_id: str) -> None:
        with self._opened() as inner:
            inner.release_by_user(job_id)

    def begin_in(self, user: str, job_id: str, seconds: int) -> None:
        with self._opened() as inner:
            inner.begin_by_user(job_id, inner.now + seconds)

    def forbid_requeue(self, user: str, job_id: str) -> None:
        with self._opened() as inner:
            inner.set_requeue(job_id, requeue=False)

    def admin_comment(self, job_id: str) -> str:
        with self._opened() as inner:
            return inner.job(job_id).admin_comment

    def drain(self, node: str) -> None:
        with self._opened() as inner:
            inner.set_node_state(node, SimNodeState.DRAIN, "maintenance")

    def resume(self, node: str) -> None:
        with self._opened() as inner:
            inner.set_node_state(node, SimNodeState.UP)

    @contextmanager
    def down(self) -> Iterator[None]:
        with self._opened() as inner:
            inner.faults.break_down()
        try:
            yield
        finally:
            with self._opened() as inner:
                inner.faults.mend()

    def wait_until(
        self, holds: Callable[[Observation], bool], what: str, seconds: int = PATIENCE_S
    ) -> Observation:
        for _ in range(seconds):
            self.pass_time(1)
            seen = self.cluster.observe()
            if holds(seen):
                return seen
        raise AssertionError(
            f"waited {seconds} simulated seconds in vain for {what}; last seen {self.cluster.observe()}"
        )

    def _submit(self, work: Work, *, batch: bool) -> str:
        with self._opened() as inner:
            return inner.submit(_spec(work, inner.now, batch=batch))


def in_memory() -> SimulatorHarness:
    """The cluster object itself."""
    cluster = scenario("empty").build(NOW)
    return SimulatorHarness(cluster, lambda: nullcontext(cluster), cluster.advance)


def in_file(path: Path) -> SimulatorHarness:
    """The cluster in a file, with a wall clock of our own; another process uses the file in between."""
    wall = [float(NOW)]

    def pass_time(seconds: int) -> None:
        wall[0] += seconds

    stored, other = (StoredSimulator(path, "empty", clock=lambda: wall[0]) for _ in range(2))
    return SimulatorHarness(stored, other.opened, pass_time)


def _spec(work: Work, now: int, *, batch: bool) -> JobSpec:
    return JobSpec(
        name=work.name,
        user=work.user,
        request=_request(work),
        partitions=work.partitions,
        account=work.account,
        comment=work.comment,
        run_time_s=work.seconds,
        time_limit_s=None if work.time_limit_min is None else work.time_limit_min * 60,
        begin=now + work.begin_in_s if work.begin_in_s else None,
        dependency=f"afterany:{work.after}" if work.after else "",
        held=work.held,
        batch=batch,
        requeue=work.requeue,
        array_tasks=work.array_tasks,
        on_signal=OnSignal.CHECKPOINT if work.checkpoints else OnSignal.DIE,
        completing_s=5 if work.ends_slowly else None,
    )


def _request(work: Work) -> Request:
    amounts = {"cpu": work.cpus, "mem": work.mem_mb, **work.gpus}
    return Request(
        nodes=0 if work.tasks else work.nodes,
        per_node={} if work.tasks else amounts,
        spread={"cpu": work.tasks} if work.tasks else {},
        features=frozenset(work.features),
        only_nodes=frozenset(work.only_nodes),
        not_nodes=frozenset(work.not_nodes),
        exclusive=work.exclusive,
    )
