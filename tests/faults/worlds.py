"""Small stories on the simulated cluster, second by second: what users do, while Giveway steers and dies.

All of them play on node n1 (partition x, 8 CPUs). `ann` is low, `bob` in between, `cy` high. The clock is a number in a
file: it goes on by one second per cycle, so that a story takes as long as its cycles and is the same every time.
"""

import fcntl
import mmap
import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from scheduler.adapters.simulator.cluster import SimulatedCluster
from scheduler.adapters.simulator.jobs import JobSpec, OnSignal
from scheduler.adapters.simulator.stored import StoredSimulator
from scheduler.model.jobs import Request

START = 1_700_000_000
GRACE_S = 4
LEVELS = [{"name": f"P{n}", "keyword": f"l{n}"} for n in range(4)]
POLICY: dict[str, Any] = {
    "name": "x",
    "mode": "user",
    "enforcement": "enforce",
    "grace_s": GRACE_S,
    "asked_to_save": "everybody",
    "checkpoint_signal": "USR1",
    "levels": LEVELS,
    "user_overrides": {"ann": "P3", "bob": "P2", "cy": "P0"},
}

Deed = Callable[[SimulatedCluster], object]


def submits(name: str, user: str, cpus: int, *, nodes: int = 1, partition: str = "x", **spec: Any) -> Deed:
    """A user queues a job, on x if nothing else is said."""
    request = Request(nodes=nodes, per_node={"cpu": cpus})
    return lambda cluster: cluster.submit(JobSpec(name, user, request, partitions=(partition,), **spec))


def needs(name: str, user: str, request: Request, **spec: Any) -> Deed:
    """A user queues a job that says more of its nodes, on wide."""
    return lambda cluster: cluster.submit(JobSpec(name, user, request, partitions=("wide",), **spec))


def measured(**powers: float) -> Deed:
    """What is known of the compute power of nodes, which are alike else."""

    def deed(cluster: SimulatedCluster) -> None:
        for name, power in powers.items():
            node = cluster.state.nodes[name]
            node.power, node.features = {"cpu": power}, frozenset()

    return deed


def opens(word: str, partition: str = "x") -> Deed:
    """The partition lets jobs start (UP) or not (DOWN)."""
    return lambda cluster: cluster.set_partition_state(partition, word)


def cancels(name: str) -> Deed:
    """A user cancels his own job."""
    return lambda cluster: cluster.cancel(_id_of(cluster, name))


def cancels_tasks(name: str) -> Deed:
    """A user cancels his own array."""
    return lambda cluster: cluster.cancel(_id_of(cluster, name).partition("_")[0])


def says(name: str, comment: str) -> Deed:
    """A user writes another comment on his own jobs of that name."""

    def deed(cluster: SimulatedCluster) -> None:
        for job in cluster.state.jobs.values():
            if job.spec.name == name:
                job.comment = comment
        cluster.state.changed = True

    return deed


def forbids(name: str) -> Deed:
    """A user says of his own job that it must not be requeued."""
    return lambda cluster: cluster.set_requeue(_id_of(cluster, name), requeue=False)


def _id_of(cluster: SimulatedCluster, name: str) -> str:
    return next((job.id for job in cluster.state.jobs.values() if job.spec.name == name), "none")


@dataclass(frozen=True)
class World:
    """A story. `deeds`: what happens at which second. `starts`: jobs that must start, whatever dies.

    `stopped`: jobs that a plan stops, once each and no more. `last`: the second of the last deed that matters.
    """

    deeds: Mapping[int, tuple[Deed, ...]]
    starts: tuple[str, ...] = ()
    stopped: tuple[str, ...] = ()
    policy: Mapping[str, Any] = field(default_factory=dict)
    cancelled: tuple[str, ...] = ()
    """Jobs that their own users end."""
    least: Mapping[str, int] = field(default_factory=dict)
    """Of arrays, by name: once so many of its tasks run, never fewer do."""
    back: tuple[str, ...] = ()
    """Jobs that run at the end."""
    together: tuple[str, ...] = ()
    """Jobs of which none may start before there is room for all, made or free."""
    least_nodes: Mapping[str, int] = field(default_factory=dict)
    """Of jobs of several nodes: they never run on fewer."""
    ends_on: Mapping[str, int] = field(default_factory=dict)
    """On how many nodes jobs run at the end."""
    times: Mapping[str, int] = field(default_factory=dict)
    """How often jobs are stopped that are stopped more than once."""
    no_stop_before: int = 0
    """The second before which nobody may be signalled or stopped."""

    @property
    def last(self) -> int:
        """When the last deed is done."""
        return max(self.deeds)


_SAVES: dict[str, Any] = {"on_signal": OnSignal.CHECKPOINT}

_LONG: dict[str, Any] = {**_SAVES, "run_time_s": 4000, "time_limit_s": 6000}
"""So much work is left that a restart pays."""

_RESTART, _INPLACE = "elastic:min=2,how=restart", "elastic:min=2,how=inplace"

WORLDS: dict[str, World] = {
    # One victim saves its work on the signal, the other is ended by it: signalled, stopped, recovered, released.
    "room": World(
        deeds={
            0: (submits("saves", "ann", 4, **_SAVES), submits("dies", "ann", 4, on_signal=OnSignal.DIE)),
            3: (submits("urgent", "cy", 8, run_time_s=12),),
        },
        starts=("urgent",),
        stopped=("saves", "dies"),
    ),
    # The partition is closed when the victim is gone, so nothing starts: the plan is undone at its deadline.
    "undone": World(
        deeds={
            0: (submits("saves", "ann", 8, completing_s=3, **_SAVES),),
            3: (submits("urgent", "cy", 8),),
            6: (opens("DOWN"),),
            22: (opens("UP"),),
            30: (cancels("urgent"),),
        },
        stopped=("saves",),
        cancelled=("urgent",),
        policy={"start_deadline_s": 8},
    ),
    # A victim that cannot be requeued, where the partition allows to cancel such jobs.
    "cancel": World(
        deeds={
            0: (submits("once", "ann", 8, requeue=False),),
            3: (submits("urgent", "cy", 8, run_time_s=12),),
        },
        starts=("urgent",),
        stopped=("once",),
        policy={"not_requeueable": "cancel", "cancel_notice_s": 0},
    ),
    # A user makes his running job not requeueable, and once more in its grace time.
    "changed": World(
        deeds={
            0: (submits("saves", "ann", 8, **_SAVES),),
            3: (forbids("saves"),),
            5: (submits("urgent", "cy", 8, run_time_s=12),),
            8: (forbids("saves"),),
        },
        starts=("urgent",),
        stopped=("saves",),
    ),
    # A job over quota is held, and let go when there is a place.
    "quota": World(
        deeds={
            0: (submits("l0_one", "cy", 2, run_time_s=9),),
            3: (submits("l0_two", "cy", 8, run_time_s=12),),
        },
        starts=("l0_one", "l0_two"),
        policy={"mode": "task", "user_overrides": {}, "quotas": {"P0": 1}, "over_quota": "hold"},
    ),
    # A job must wait a while before others are stopped for it, and who was stopped is left alone for a while.
    "limits": World(
        deeds={
            0: (submits("saves", "ann", 8, **_SAVES),),
            3: (submits("urgent", "cy", 8, run_time_s=6),),
        },
        starts=("urgent",),
        stopped=("saves",),
        policy={"min_wait_s": 6, "cool_down_s": 60, "exempt_s": 5, "max_stops_per_hour": 1},
        no_stop_before=9,
    ),
    # Urgent tasks of an array get room by one plan; of a lower array just as many tasks go as are in their way.
    "array": World(
        deeds={
            0: (submits("low", "ann", 2, array_tasks=4, **_SAVES),),
            3: (submits("urgent", "cy", 2, array_tasks=3, run_time_s=12),),
        },
        starts=("urgent_0", "urgent_1", "urgent_2"),
        stopped=("low_0", "low_1", "low_2"),
    ),
    # The same, and the partition is closed when they are gone: the plan is undone for all of them.
    "array_undone": World(
        deeds={
            0: (submits("low", "ann", 2, array_tasks=4, completing_s=3, **_SAVES),),
            3: (submits("urgent", "cy", 2, array_tasks=3),),
            6: (opens("DOWN"),),
            22: (opens("UP"),),
            30: (cancels_tasks("urgent"),),
        },
        stopped=("low_0", "low_1", "low_2"),
        cancelled=("urgent_0", "urgent_1", "urgent_2"),
        policy={"start_deadline_s": 8},
    ),
    # Tasks whose user wants all of them or none are held until their plan stops others, also where one could start.
    "whole": World(
        deeds={
            0: (
                submits("low", "ann", 3, array_tasks=2, **_SAVES, checkpoint_s=3),
                submits("short", "cy", 2, run_time_s=6),
            ),
            3: (submits("urgent", "cy", 2, array_tasks=3, comment="partial=no", run_time_s=12),),
        },
        starts=("urgent_0", "urgent_1", "urgent_2"),
        stopped=("low_0", "low_1"),
        together=("urgent_0", "urgent_1", "urgent_2"),
    ),
    # Nobody can be stopped for them, and their partition only watches from then on: they are let go.
    "whole_over": World(
        deeds={
            0: (submits("high", "cy", 4, run_time_s=30), submits("short", "cy", 4, run_time_s=8)),
            3: (submits("all", "bob", 3, array_tasks=2, comment="partial=no", run_time_s=9),),
            20: (says("all", ""),),
        },
        starts=("all_0", "all_1"),
    ),
    # The cluster does not answer for a while, just when there is somebody to be stopped.
    "away": World(
        deeds={
            0: (submits("saves", "ann", 8, **_SAVES),),
            3: (submits("urgent", "cy", 8, run_time_s=12), lambda cluster: cluster.faults.break_down()),
            6: (lambda cluster: cluster.faults.mend(),),
        },
        starts=("urgent",),
        stopped=("saves",),
    ),
    # An elastic array gives two of its four workers to an urgent job, and has them back when that has ended.
    "elastic": World(
        deeds={
            0: (submits("low", "ann", 2, array_tasks=4, comment="elastic:min=2,wish=4", **_SAVES),),
            3: (submits("urgent", "cy", 4, run_time_s=12),),
            45: (opens("UP"),),
        },
        starts=("urgent",),
        stopped=("low_2", "low_3"),
        least={"low": 2},
        back=("low_0", "low_1", "low_2", "low_3"),
    ),
    # The same, and the partition is closed when they are gone: the workers come back when it is open again.
    "elastic_undone": World(
        deeds={
            0: (submits("low", "ann", 2, array_tasks=4, comment="elastic:min=2,wish=4", **_SAVES),),
            3: (submits("urgent", "cy", 4),),
            6: (opens("DOWN"),),
            22: (opens("UP"),),
            30: (cancels("urgent"),),
            45: (opens("UP"),),
        },
        stopped=("low_2", "low_3"),
        cancelled=("urgent",),
        policy={"start_deadline_s": 8},
        least={"low": 2},
        back=("low_0", "low_1", "low_2", "low_3"),
    ),
    # A job of four nodes starts again on three of them.
    "restart": World(
        deeds={
            0: (submits("low", "ann", 8, nodes=4, partition="wide", comment=_RESTART, **_SAVES),),
            3: (submits("urgent", "cy", 8, partition="wide", run_time_s=12),),
            45: (opens("UP", "wide"),),
        },
        starts=("urgent",),
        stopped=("low",),
        policy={"name": "wide"},
        least_nodes={"low": 2},
        ends_on={"low": 3},
    ),
    # The partition is closed when it has ended: it comes back with all its nodes.
    "restart_undone": World(
        deeds={
            0: (
                submits(
                    "low", "ann", 8, nodes=4, partition="wide", comment=_RESTART, completing_s=3, **_SAVES
                ),
            ),
            3: (submits("urgent", "cy", 8, partition="wide"),),
            6: (opens("DOWN", "wide"),),
            21: (cancels("urgent"),),
            22: (opens("UP", "wide"),),
            45: (opens("UP", "wide"),),
        },
        stopped=("low",),
        cancelled=("urgent",),
        policy={"name": "wide", "start_deadline_s": 8},
        least_nodes={"low": 2},
        ends_on={"low": 4},
    ),
    # A job of four nodes gives one back and goes on.
    "inplace": World(
        deeds={
            0: (submits("low", "ann", 8, nodes=4, partition="wide", comment=_INPLACE),),
            3: (submits("urgent", "cy", 8, partition="wide", run_time_s=12),),
            30: (opens("UP", "wide"),),
        },
        starts=("urgent",),
        policy={"name": "wide"},
        least_nodes={"low": 2},
        ends_on={"low": 3},
    ),
    # It starts again on three of its four nodes, and on all of them when the other has ended.
    "regrow": World(
        deeds={
            0: (submits("low", "ann", 8, nodes=4, partition="wide", comment=_RESTART, **_LONG),),
            3: (submits("urgent", "cy", 8, partition="wide", run_time_s=12),),
            50: (opens("UP", "wide"),),
        },
        starts=("urgent",),
        stopped=("low",),
        times={"low": 2},
        policy={"name": "wide"},
        least_nodes={"low": 2},
        ends_on={"low": 4},
    ),
    # The partition is closed when it has let go of its nodes to start again on more: it goes on with what it had.
    "regrow_undone": World(
        deeds={
            0: (submits("low", "ann", 8, nodes=4, partition="wide", comment=_RESTART, **_LONG),),
            3: (submits("urgent", "cy", 8, partition="wide", run_time_s=12),),
            20: (opens("DOWN", "wide"),),
            50: (opens("UP", "wide"),),
            60: (opens("UP", "wide"),),
        },
        starts=("urgent",),
        stopped=("low",),
        times={"low": 2},
        policy={"name": "wide", "start_deadline_s": 8},
        least_nodes={"low": 2},
        back=("low",),
    ),
    # A job of two nodes exchanges one of them, so that another one gets an even set, too.
    "exchange": World(
        deeds={
            0: (
                measured(n1=1.0, n2=1.02, n3=1.03, n4=1.0),
                submits("runs", "ann", 8, nodes=2, partition="wide", **_SAVES),
            ),
            3: (
                needs(
                    "waits",
                    "bob",
                    Request(nodes=2, per_node={"cpu": 8}, not_nodes=frozenset({"n4"})),
                    run_time_s=12,
                ),
            ),
            45: (opens("UP", "wide"),),
        },
        starts=("waits",),
        policy={
            "name": "wide",
            "balance": {"resource": "cpu", "max_distance": 0.05, "swap_below_s": 600},
        },
        back=("runs",),
    ),
    # Nobody may be stopped: the nodes that are free first are kept for the job that comes first, until it runs. When
    # the others end is known from their task type.
    "kept": World(
        deeds={
            0: tuple(
                submits(f"short{n}", "ann", 8, partition="wide", run_time_s=12 + 4 * n) for n in range(4)
            ),
            3: (submits("large", "cy", 8, nodes=3, partition="wide", run_time_s=9),),
            30: (opens("UP", "wide"),),
        },
        starts=("short0", "short1", "short2", "short3", "large"),
        policy={
            "name": "wide",
            "dispatch": "managed",
            "protected_users": ["*"],
            "task_types": [{"pattern": "*", "time_s": 30}],
        },
    ),
    # n1 and n3 come free first and are too uneven: it does not begin before n2 and n4 are kept for it.
    "placed": World(
        deeds={
            0: (
                measured(n1=12.0, n2=10.0, n3=14.0, n4=10.2),
                *(
                    submits(f"short{n}", "ann", 8, partition="wide", run_time_s=run_s)
                    for n, run_s in enumerate((6, 14, 6, 14))
                ),
            ),
            3: (submits("even", "cy", 8, nodes=2, partition="wide", run_time_s=9),),
        },
        starts=("short0", "short1", "short2", "short3", "even"),
        policy={
            "name": "wide",
            "protected_users": ["*"],
            "balance": {"resource": "cpu", "max_distance": 0.5},
        },
    ),
}


class Clock:
    """Seconds since the story began, in a file that all processes share."""

    def __init__(self, path: Path) -> None:
        if not path.exists():
            path.write_bytes(struct.pack("q", 0))
        with path.open("r+b") as file:
            self._shared = mmap.mmap(file.fileno(), 8)

    @property
    def seconds(self) -> int:
        """How far the story has come."""
        value: int = struct.unpack("q", self._shared[:8])[0]
        return value

    def set(self, seconds: int) -> None:
        """Go on."""
        self._shared[:8] = struct.pack("q", seconds)


class Stage:
    """A folder in which a story plays: the clock, the cluster's file and its record, the console's database."""

    def __init__(self, folder: Path, world: str) -> None:
        self.folder = folder
        self.world = WORLDS[world]
        self.clock = Clock(folder / "clock")
        self.port = StoredSimulator(
            folder / "cluster.json", "empty", clock=lambda: START + self.clock.seconds, name="dev"
        )

    @property
    def database(self) -> Path:
        """The console's SQLite file."""
        return self.folder / "giveway.sqlite3"

    def begin(self) -> None:
        """The cluster at its first second."""
        self.port.record_path.touch()
        self._do(0)

    def tick(self) -> int:
        """One second goes by, and whatever users do in it is done; once, however many processes steer."""
        with (self.folder / "clock").open("rb") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            seconds = self.clock.seconds + 1
            self.clock.set(seconds)
            self._do(seconds)
            return seconds

    def _do(self, seconds: int) -> None:
        with self.port.opened() as cluster:
            for deed in self.world.deeds.get(seconds, ()):
                deed(cluster)
