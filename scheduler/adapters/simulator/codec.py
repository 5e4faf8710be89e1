"""The state of a simulated cluster as JSON and back, exactly."""

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from scheduler.adapters.simulator.faults import ActionFault, FaultEffect, Faults
from scheduler.adapters.simulator.jobs import Afterwards, HeldBy, JobSpec, OnSignal, SimJob
from scheduler.adapters.simulator.state import (
    Behaviour,
    SimKept,
    SimNode,
    SimNodeState,
    SimPartition,
    SimState,
    StreamState,
)
from scheduler.model.actions import ActionKind
from scheduler.model.endings import Ending, EndKind
from scheduler.model.jobs import JobState, Request

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
