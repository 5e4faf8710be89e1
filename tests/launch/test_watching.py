"""The watcher wakes the worker for a new job, and for nothing else."""

import threading
from dataclasses import dataclass, field

import pytest

from console.launch.watching import Watcher
from scheduler.adapters.simulator.cluster import SimulatedCluster
from scheduler.adapters.simulator.jobs import JobSpec
from scheduler.adapters.simulator.scenarios import SCENARIOS
from scheduler.model.jobs import Request


@dataclass
class Scene:
    """A simulated cluster with a watcher that counts."""

    cluster: SimulatedCluster = field(default_factory=lambda: SCENARIOS["empty"].build(1_700_000_000))
    woken: int = 0

    def __post_init__(self) -> None:
        self.watcher = Watcher(self.cluster, self.wake, every_s=0.01)

    def wake(self) -> None:
        self.woken += 1

    def submit(self) -> str:
        """A job that has to wait: it asks for the whole of a full node."""
        request = Request(nodes=1, per_node={"cpu": 8})
        return self.cluster.submit(JobSpec("job", "ann", request, partitions=("x",)))


def test_what_waits_at_the_first_glance_is_nothing_new() -> None:
    scene = Scene()
    scene.submit()
    scene.watcher.look()
    assert scene.woken == 0


def test_a_new_job_wakes_once() -> None:
    scene = Scene()
    scene.watcher.look()
    scene.submit()
    for _ in range(3):
        scene.watcher.look()
    assert scene.woken == 1


def test_a_job_that_leaves_the_queue_wakes_nobody() -> None:
    scene = Scene()
    job = scene.submit()
    scene.watcher.look()
    scene.cluster.cancel(job)
    scene.watcher.look()
    assert scene.woken == 0


def test_a_glance_that_raises_does_not_end_the_watcher() -> None:
    scene = Scene()
    scene.watcher.look()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(type(scene.cluster), "glance", lambda _: int("0:10"))
        assert not scene.watcher.look()
    assert scene.watcher.look()
    scene.submit()
    scene.watcher.look()
    assert scene.woken == 1


def test_after_a_failed_glance_what_waits_is_not_taken_for_new() -> None:
    scene = Scene()
    scene.watcher.look()
    scene.cluster.faults.break_down()
    assert not scene.watcher.look()
    scene.submit()
    scene.cluster.faults.mend()
    assert scene.watcher.look()
    assert scene.woken == 0


def test_the_thread_wakes_by_itself_and_ends_when_told() -> None:
    scene = Scene()
    woken = threading.Event()
    watcher = Watcher(scene.cluster, woken.set, every_s=0.01)
    watcher.look()
    watcher.start()
    scene.submit()
    assert woken.wait(300)
    watcher.stop()
    watcher.join(300)
    assert not watcher.is_alive()


def test_a_broker_that_is_away_does_not_end_the_watcher() -> None:
    """`manage.py watch` ended when Redis went away, and nobody noticed but by slower starts."""
    scene = Scene()
    scene.watcher.look()
    scene.submit()

    def away() -> None:
        raise ConnectionError("Redis is away")

    scene.watcher._wake = away
    assert not scene.watcher.look(), "it is tried more rarely"
    scene.watcher._wake = scene.wake
    scene.submit()
    assert scene.watcher.look() and scene.woken == 1
