"""A simulated cluster in a file: several processes see one and the same, and a restart loses nothing."""

import fcntl
import json
import math
import os
import tempfile
import threading
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import fields
from pathlib import Path
from typing import Any

from scheduler.adapters.simulator.cluster import SimulatedCluster
from scheduler.adapters.simulator.faults import ActionFault, FaultEffect, Faults
from scheduler.adapters.simulator.jobs import Afterwards, HeldBy, JobSpec, OnSignal, SimJob
from scheduler.adapters.simulator.scenarios import DEFAULT_SEED, scenario
from scheduler.adapters.simulator.state import (
    Behaviour,
    SimKept,
    SimNode,
    SimNodeState,
    SimPartition,
    SimState,
    StreamState,
)
from scheduler.model.actions import Action, ActionKind, ActionOutcome, OutcomeKind
from scheduler.model.endings import Ending, EndKind
from scheduler.model.jobs import JobState, Request
from scheduler.model.observation import ClusterInfo, Glance, Observation
from scheduler.ports import ClusterUnavailableError, always

# --- The state of a simulated cluster as JSON and back, exactly ---


Json = dict[str, Any]


def dump(state: SimState) -> Json:
    """The state as JSON values. Jobs of one array share their spec: it is written once, jobs refer to it."""
    specs: dict[int, int] = {}
    spec_list: list[Json] = []
    jobs = []
    for job in (*state.jobs.values(), *state.killed.values()):
        if id(job.spec) not in specs:
            specs[id(job.spec)] = len(spec_list)
            spec_list.append({**_flat(job.spec), "request": _sets_sorted(_flat(job.spec.request))})
        jobs.append({**_flat(job), "spec": specs[id(job.spec)]})
    return {
        "name": state.name,
        "now": state.now,
        "next_id": state.next_id,
        "changed": state.changed,
        "seed": state.seed,
        "behaviour": _flat(state.behaviour),
        "nodes": [_sets_sorted(_flat(node)) for node in state.nodes.values()],
        "partitions": [_flat(partition) for partition in state.partitions.values()],
        "streams": {name: _flat(stream) for name, stream in state.streams.items()},
        "faults": {
            **_sets_sorted(_flat(state.faults)),
            "actions": [_flat(fault) for fault in state.faults.actions],
        },
        "specs": spec_list,
        "jobs": jobs[: len(state.jobs)],
        "killed": jobs[len(state.jobs) :],
        "endings": {job_id: _flat(ending) for job_id, ending in state.endings.items()},
        "kept": {job_id: _flat(kept) for job_id, kept in state.kept.items()},
    }


def load(data: Mapping[str, Any]) -> SimState:
    """The state that `dump` has written. Raises KeyError, TypeError or ValueError for anything else."""
    specs = [_spec(spec) for spec in data["specs"]]
    jobs = [_job(job, specs) for job in data["jobs"]]
    return SimState(
        name=data["name"],
        now=data["now"],
        next_id=data["next_id"],
        changed=data["changed"],
        seed=data["seed"],
        behaviour=Behaviour(**data["behaviour"]),
        nodes={node["name"]: _node(node) for node in data["nodes"]},
        partitions={
            part["name"]: SimPartition(**{**part, "nodes": tuple(part["nodes"])})
            for part in data["partitions"]
        },
        streams={name: StreamState(**stream) for name, stream in data["streams"].items()},
        faults=_faults(data["faults"]),
        jobs={job.id: job for job in jobs},
        killed={job["id"]: _job(job, specs) for job in data.get("killed", ())},
        endings={
            job_id: Ending(**{**ending, "kind": EndKind(ending["kind"])})
            for job_id, ending in data.get("endings", {}).items()
        },
        kept={
            job_id: SimKept(tuple(kept["nodes"]), kept["until"], kept.get("inside", True))
            for job_id, kept in data.get("kept", {}).items()
        },
    )


def _flat(thing: Any) -> Json:
    return {field.name: getattr(thing, field.name) for field in fields(thing)}


def _sets_sorted(data: Json) -> Json:
    return {name: sorted(value) if isinstance(value, frozenset) else value for name, value in data.items()}


def _node(data: Json) -> SimNode:
    return SimNode(**{**data, "features": frozenset(data["features"]), "state": SimNodeState(data["state"])})


def _spec(data: Json) -> JobSpec:
    request = data["request"]
    sets = {name: frozenset(request[name]) for name in ("features", "only_nodes", "not_nodes")}
    own = {"partitions": tuple(data["partitions"]), "on_signal": OnSignal(data["on_signal"])}
    return JobSpec(**{**data, **own, "request": Request(**{**request, **sets})})


def _job(data: Json, specs: list[JobSpec]) -> SimJob:
    return SimJob(
        **{
            **data,
            "spec": specs[data["spec"]],
            "partitions": tuple(data["partitions"]),
            "state": JobState(data["state"]),
            "held": HeldBy(data["held"]),
            "afterwards": Afterwards(data["afterwards"]),
        }
    )


def _faults(data: Json) -> Faults:
    actions = [
        ActionFault(**{**fault, "effect": FaultEffect(fault["effect"]), "kind": _kind(fault["kind"])})
        for fault in data["actions"]
    ]
    return Faults(
        unavailable=data["unavailable"],
        partial=tuple(data["partial"]),
        hidden_nodes=frozenset(data["hidden_nodes"]),
        hidden_jobs=frozenset(data["hidden_jobs"]),
        actions=actions,
    )


def _kind(value: str | None) -> ActionKind | None:
    return None if value is None else ActionKind(value)


FORMAT = "giveway.simulator/1"
CATCH_UP_S = 600
"""After a longer pause (the machine slept, nobody looked) the clock jumps over the rest."""
LOCK_WAIT_S = 10.0
_Stamp = tuple[int, int, int]


class SimulatorFileError(ClusterUnavailableError):
    """The file cannot be used; the message names it and says what to do."""


class StoredSimulator:
    """The `Cluster` port over a file. Every use locks it, lets its clock catch up with `clock`, and saves it.

    Where there is a file of the same name with `.record` behind it, the cluster writes down there, line by line, what
    happens to its jobs, whoever does it: tests compare that with what the console believes to have done.
    `clock`: wall time, epoch seconds; `speed`: simulated seconds per second; `name`: what the cluster calls itself
    (else as its scenario says). No file: the scenario begins.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        scenario_name: str,
        *,
        clock: Callable[[], float] = time.time,
        speed: float = 1.0,
        seed: int = DEFAULT_SEED,
        name: str = "",
    ) -> None:
        if speed <= 0:
            raise ValueError(f"speed: {speed} is not above 0")
        self.path = Path(path)
        self._scenario_name, self._scenario = scenario_name, scenario(scenario_name)
        self._clock, self._speed, self._seed, self._name = clock, speed, seed, name
        self._threads = threading.Lock()
        self._cluster: SimulatedCluster | None = None
        self._wall = 0.0
        self._stamp: _Stamp | None = None

    # --- the port ---

    def describe(self) -> ClusterInfo:
        """Name, kind and version. Raises `ClusterUnavailableError`."""
        with self.opened() as cluster:
            return cluster.describe()

    def observe(self, *, quick: bool = False) -> Observation:
        """The cluster as it is by now. Raises `ClusterUnavailableError`."""
        with self.opened() as cluster:
            return cluster.observe(quick=quick)

    def glance(self) -> Glance:
        """What tells whether something has happened. Raises `ClusterUnavailableError`."""
        with self.opened() as cluster:
            return cluster.glance()

    def ended(self, job_ids: Collection[str]) -> Mapping[str, Ending]:
        """What became of jobs. Raises `ClusterUnavailableError`."""
        with self.opened() as cluster:
            return cluster.ended(job_ids)

    def apply(
        self, actions: Sequence[Action], may_act: Callable[[], bool] = always
    ) -> Sequence[ActionOutcome]:
        """Carry out actions. When the file cannot be used, nothing happens and every outcome is unknown."""
        try:
            with self.opened() as cluster:
                return cluster.apply(actions, may_act)
        except ClusterUnavailableError as error:
            return [ActionOutcome(OutcomeKind.UNKNOWN, str(error)) for _ in actions]

    # --- for trying things by hand ---

    def submit(self, spec: JobSpec) -> str:
        """Queue a job; returns its id. Raises `SubmitError` and `ClusterUnavailableError`."""
        with self.opened() as cluster:
            return cluster.submit(spec)

    def cancel(self, job_id: str) -> bool:
        """Cancel a job as its user would; False when there is none."""
        with self.opened() as cluster:
            return cluster.cancel(job_id)

    def set_node_state(self, name: str, node_state: SimNodeState, reason: str = "") -> None:
        """Drain a node, bring it back, or break it. Raises KeyError when there is none of that name."""
        with self.opened() as cluster:
            cluster.set_node_state(name, node_state, reason)

    def reset(self) -> int:
        """Begin the scenario anew, now, whatever the file holds; the epoch second at which it begins."""
        with self._locked():
            self._begin()
            self._save()
            return math.floor(self._wall)

    @contextmanager
    def opened(self) -> Iterator[SimulatedCluster]:
        """The cluster under lock, brought up to the present; saved at the end unless the block raises."""
        with self._locked():
            self._read()
            cluster = self._catch_up()
            try:
                yield cluster
            except BaseException:
                self._cluster = None  # it may be half changed: the file decides next time
                raise
            self._save()

    # --- the file ---

    @contextmanager
    def _locked(self) -> Iterator[None]:
        """Alone among the threads and processes of this machine, or `SimulatorFileError` after a while."""
        lock_path = self.path.with_name(self.path.name + ".lock")
        with self._threads:
            try:
                self.path.parent.mkdir(parents=True, exist_ok=True)
                lock = lock_path.open("a")
            except OSError as error:
                raise SimulatorFileError(
                    f"{lock_path} cannot be opened ({error.strerror}); make its folder writable"
                ) from error
            with lock:
                self._wait_for(lock.fileno(), lock_path)
                yield

    def _wait_for(self, descriptor: int, lock_path: Path) -> None:
        until = time.monotonic() + LOCK_WAIT_S
        while True:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                if time.monotonic() > until:
                    raise SimulatorFileError(
                        f"{lock_path} is held by another process for too long; end it"
                    ) from None
                time.sleep(0.01)
            else:
                return

    def _read(self) -> None:
        """Take the state from the file, unless what we hold is what the file holds."""
        try:
            found = self.path.stat()
        except FileNotFoundError:
            self._begin()
            return
        if self._cluster is not None and self._stamp == (found.st_ino, found.st_mtime_ns, found.st_size):
            return
        try:
            self._take(json.loads(self.path.read_bytes()))
        except (OSError, ValueError, LookupError, TypeError, AttributeError) as error:
            raise SimulatorFileError(
                f"{self.path} is not readable as a simulator's state ({error!r}); {self._cure}"
            ) from error

    def _take(self, data: Mapping[str, Any]) -> None:
        if data["format"] != FORMAT:
            raise SimulatorFileError(
                f"{self.path} has format {data['format']!r}, not {FORMAT!r}; {self._cure}"
            )
        if data["scenario"] != self._scenario_name:
            raise SimulatorFileError(
                f"{self.path} holds scenario {data['scenario']!r}, not {self._scenario_name!r}; {self._cure}"
            )
        self._cluster = SimulatedCluster(load(data["cluster"]), self._scenario.streams)
        self._wall = float(data["wall"])

    @property
    def _cure(self) -> str:
        return "delete the file to begin the scenario anew"

    def _begin(self) -> None:
        self._wall = self._clock()
        self._cluster = self._scenario.build(math.floor(self._wall), self._seed)

    def _catch_up(self) -> SimulatedCluster:
        """Let the simulated clock follow the wall clock; fractions of a second are kept for the next time."""
        assert self._cluster is not None  # noqa: S101 (for the type checker; _read has set it)
        self._cluster.state.name = self._name or self._cluster.state.name
        wall = self._clock()
        due = math.floor(max(0.0, wall - self._wall) * self._speed)
        self._wall = self._wall + due / self._speed if wall >= self._wall else wall
        self._cluster.advance(min(due, CATCH_UP_S))
        self._cluster.sleep(max(0, due - CATCH_UP_S))
        return self._cluster

    def _save(self) -> None:
        """Replace the file at one stroke. Not forced to the disk: a power cut may cost it, a crash cannot."""
        assert self._cluster is not None  # noqa: S101
        data = {
            "format": FORMAT,
            "scenario": self._scenario_name,
            "wall": self._wall,
            "cluster": dump(self._cluster.state),
        }
        try:
            self._write_record()
            self._stamp = _replace(self.path, json.dumps(data, separators=(",", ":")))
        except OSError as error:
            self._cluster = None
            raise SimulatorFileError(
                f"{self.path} cannot be written ({error.strerror}); make room or its folder writable"
            ) from error

    def _write_record(self) -> None:
        assert self._cluster is not None  # noqa: S101
        record, self._cluster.state.record = self._cluster.state.record, []
        path = self.record_path
        if record and path.exists():
            with path.open("a", encoding="ascii") as file:
                file.writelines(json.dumps(line._asdict()) + "\n" for line in record)

    @property
    def record_path(self) -> Path:
        """The cluster's own record; kept while the file is there."""
        return self.path.with_name(self.path.name + ".record")


def _replace(path: Path, text: str) -> _Stamp:
    descriptor, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(descriptor, "w", encoding="ascii") as file:
            file.write(text)
        written = Path(name).stat()
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
    return written.st_ino, written.st_mtime_ns, written.st_size
