"""A snapshot as contract A writes it, in and out: decoding what was encoded gives the same snapshot."""

from collections.abc import Iterable, Mapping
from typing import Any

from scheduler.contracts.errors import InputError, join, kind, quoted
from scheduler.contracts.fields import (
    Fields,
    amounts,
    choice,
    different,
    flag,
    level,
    listing,
    mapping,
    maybe,
    name,
    names,
    number,
    positive,
    text,
    unique,
    whole,
)
from scheduler.contracts.powers import encode_powers, node_powers
from scheduler.contracts.requests import decode_request, encode_request
from scheduler.contracts.rules import decode_rules, encode_rules
from scheduler.model.jobs import Elastic, JobState, SnapshotJob
from scheduler.model.nodes import SnapshotNode
from scheduler.model.plan import STOPPED, How, Shrinking
from scheduler.model.resources import Amounts
from scheduler.model.sentence import say
from scheduler.model.snapshot import Snapshot

# --- What of a job may come and go, as contract A writes it: its `unit`, and how it is `elastic` ---


_KINDS = ("nodes", "units", "workers")
_RESTART = ("ends_at", "restart_s")
_NUMBERS = tuple(f"{bound}_{kind}" for bound in ("min", "wish") for kind in _KINDS)


def decode_elastic(value: object, path: str) -> Elastic:
    """How far a job may shrink and grow: in nodes, in units or in workers."""
    fields = Fields(value, path, (*_NUMBERS, "per_node", "by", "first", *_RESTART))
    numbers = {key: fields.get(key, maybe(positive), None) for key in _NUMBERS}
    elastic = Elastic(
        **numbers,
        per_node=fields.get("per_node", amounts, {}),
        by=fields.get("by", maybe(choice(Shrinking)), None),
        first=fields.get("first", text, ""),
        **{key: fields.get(key, maybe(whole), None) for key in _RESTART},
    )
    for unit in _KINDS:
        least, wish = numbers[f"min_{unit}"], numbers[f"wish_{unit}"]
        if least is None:
            if wish is not None:
                raise InputError(fields.at(f"wish_{unit}"), f"needs min_{unit}: how few it can do with")
            continue
        other = next((each for each in _KINDS if each != unit and numbers[f"min_{each}"] is not None), "")
        if other:
            raise InputError(fields.at(f"min_{other}"), f"stands beside min_{unit}; give one of them")
        if wish is not None and wish < least:
            raise InputError(fields.at(f"wish_{unit}"), f"is below min_{unit}")
    if all(numbers[f"min_{unit}"] is None for unit in _KINDS):
        raise InputError(path, "says no minimum; give min_nodes, min_units or min_workers")
    if elastic.per_node and elastic.min_nodes is None:
        raise InputError(fields.at("per_node"), "is only of use with min_nodes; units say their own size")
    for key in ("by", "first", *_RESTART):
        if getattr(elastic, key) and elastic.min_nodes is None:
            raise InputError(fields.at(key), "is only of use with min_nodes")
    return elastic


def check_pieces(job: SnapshotJob, fields: Fields) -> None:
    """Whole units on every node; and a job that is elastic in units holds some."""
    if job.unit and not any(job.unit.values()):
        raise InputError(fields.at("unit"), 'is nothing; name an amount, for example {"cpu": 1}')
    if job.elastic and job.elastic.min_workers is not None and not job.group:
        raise InputError(fields.at("group"), "is missing; the workers of an elastic job have the same one")
    if job.state is JobState.PENDING:
        if job.unit:
            raise InputError(
                fields.at("unit"), "must be left out; what a pending job asks for is its request"
            )
        return
    if job.elastic and job.elastic.min_units is not None and not job.unit:
        raise InputError(fields.at("unit"), "is missing; the job is elastic in units")
    if job.elastic and job.elastic.min_nodes is not None and job.unit:
        raise InputError(
            join(fields.at("elastic"), "min_nodes"), "the job holds units; give min_units instead"
        )
    for node, held in job.alloc.items() if job.unit else ():
        count = max(held.get(name, 0) // amount for name, amount in job.unit.items() if amount)
        whole = all(held.get(name, 0) == amount * count for name, amount in job.unit.items() if amount)
        if not count or not whole or any(amount % count for amount in held.values()):
            raise InputError(join(fields.at("alloc"), node), "is not a whole number of units of the job")


def encode_elastic(elastic: Elastic) -> dict[str, Any]:
    """What a job says of its pieces, without what it leaves open."""
    result: dict[str, Any] = {key: n for key in _NUMBERS if (n := getattr(elastic, key)) is not None}
    result |= {"per_node": dict(elastic.per_node)} if elastic.per_node else {}
    result |= {"by": elastic.by.value} if elastic.by else {}
    result |= {"first": elastic.first} if elastic.first else {}
    return result | {key: n for key in _RESTART if (n := getattr(elastic, key)) is not None}


__all__ = ["SCHEMA", "decode_request", "decode_snapshot", "encode_request", "encode_snapshot", "schema"]

SCHEMA = "giveway.snapshot/1"

_NODE_KEYS = (
    "name", "up", "total", "features", "unit", "power", "health",
    "held_elsewhere", "coming_elsewhere", "state", "state_reason", "partitions",
)  # fmt: skip
_JOB_KEYS = (
    "id", "name", "state", "user", "user_level", "task_level", "submit", "start", "alloc", "request",
    "preemptable", "protected", "blocked", "restarts", "predicted_end", "how", "promised",
    "stopped_at", "beneficiary", "elastic", "balanced", "unit", "ran_s", "rested", "stopped", "crashes",
    "group", "saved_at", "patience_spent",
)  # fmt: skip

_SAID = (
    "protected", "blocked", "restarts", "beneficiary", "balanced", "ran_s", "rested", "stopped", "crashes",
    "group", "patience_spent",
)  # fmt: skip
"""Keys of a job that are written where they say something."""


def decode_snapshot(obj: object) -> Snapshot:
    """The snapshot in a JSON value. Raises `InputError` with the path of the first fault."""
    fields = Fields(obj, "$", ("schema", "now", "partition", "nodes", "jobs"))
    schema(fields, SCHEMA)
    snapshot = Snapshot(
        now=fields.need("now", whole),
        partition=fields.need("partition", decode_rules),
        nodes=fields.need("nodes", listing(_node)),
        jobs=fields.need("jobs", listing(_job)),
    )
    nodes, jobs = snapshot.nodes, snapshot.jobs
    unique((node.name for node in nodes), (f"$.nodes[{i}].name" for i in range(len(nodes))), "node")
    unique((job.id for job in jobs), (f"$.jobs[{i}].id" for i in range(len(jobs))), "job")
    _check_nodes_exist(jobs, {node.name for node in nodes})
    return snapshot


def encode_snapshot(snapshot: Snapshot) -> dict[str, Any]:
    """The snapshot as a JSON value; optional keys only where they say something."""
    return {
        "schema": SCHEMA,
        "now": snapshot.now,
        "partition": encode_rules(snapshot.partition),
        "nodes": [encode_node(node) for node in snapshot.nodes],
        "jobs": [encode_job(job) for job in snapshot.jobs],
    }


def schema(fields: Fields, expected: str) -> None:
    """Refuse a document of another kind or version."""
    found = fields.need("schema", lambda value, _path: value)
    if found != expected:
        raise InputError(
            fields.at("schema"), say("input.schema", expected=quoted(expected), found=kind(found))
        )


def _node(value: object, path: str) -> SnapshotNode:
    fields = Fields(value, path, _NODE_KEYS)
    health = fields.get("health", number, 1.0)
    if health > 1:
        raise InputError(fields.at("health"), "must be between 0 and 1")
    return SnapshotNode(
        name=fields.need("name", name),
        up=fields.need("up", flag),
        total=fields.need("total", amounts),
        features=fields.get("features", names, frozenset()),
        held_elsewhere=fields.get("held_elsewhere", amounts, {}),
        coming_elsewhere=fields.get("coming_elsewhere", amounts, {}),
        unit=fields.get("unit", maybe(name), None),
        power=node_powers(fields),
        health=health,
        state=fields.get("state", text, ""),
        state_reason=fields.get("state_reason", text, ""),
        partitions=fields.get("partitions", different(name), ()),
    )


def _job(value: object, path: str) -> SnapshotJob:
    fields = Fields(value, path, _JOB_KEYS)
    protected = fields.get("protected", text, "")
    job = SnapshotJob(
        id=fields.need("id", name),
        name=fields.need("name", text),
        state=fields.need("state", choice(JobState)),
        user=fields.need("user", name),
        user_level=fields.need("user_level", level),
        task_level=fields.need("task_level", level),
        submit=fields.need("submit", whole),
        start=fields.get("start", maybe(whole), None),
        alloc=fields.get("alloc", mapping(amounts), {}),
        request=fields.get("request", maybe(decode_request), None),
        preemptable=fields.get("preemptable", flag, not protected),
        protected=protected,
        blocked=fields.get("blocked", text, ""),
        restarts=fields.get("restarts", whole, 0),
        predicted_end=fields.get("predicted_end", maybe(whole), None),
        how=fields.get("how", _how, How.REQUEUE),
        promised=fields.get("promised", mapping(amounts), {}),
        stopped_at=fields.get("stopped_at", maybe(whole), None),
        beneficiary=fields.get("beneficiary", flag, False),
        balanced=fields.get("balanced", flag, False),
        unit=fields.get("unit", amounts, {}),
        elastic=fields.get("elastic", maybe(decode_elastic), None),
        ran_s=fields.get("ran_s", whole, 0),
        rested=fields.get("rested", flag, False),
        stopped=fields.get("stopped", whole, 0),
        crashes=fields.get("crashes", whole, 0),
        group=fields.get("group", text, ""),
        saved_at=fields.get("saved_at", maybe(whole), None),
        patience_spent=fields.get("patience_spent", flag, False),
    )
    _check_state(job, fields)
    check_pieces(job, fields)
    return job


def _how(value: object, path: str) -> How:
    """How a whole job is stopped; the other ways are the planner's to choose."""
    word = text(value, path)
    if word not in STOPPED:
        raise InputError(path, f"{quoted(word)} is not one of requeue, cancel")
    return How(word)


def _check_state(job: SnapshotJob, fields: Fields) -> None:
    """What must be there, and what cannot be, in the state the job is in."""
    if job.preemptable and job.protected:
        raise InputError(fields.at("protected"), "contradicts preemptable: true; leave one of them out")
    if job.state is JobState.PENDING:
        if job.request is None and not job.blocked:
            raise InputError(fields.at("request"), "is missing; a pending job asks for something")
        _absent(fields, job.start is not None, "start", "a pending job has not started")
        _absent(fields, bool(job.alloc), "alloc", "a pending job holds nothing")
        _absent(fields, job.beneficiary, "beneficiary", "others are stopped for a run, and it has none")
        _absent(fields, job.saved_at is not None, "saved_at", "a run saves its state, and it has none")
        return
    if not fields.has("alloc"):
        raise InputError(fields.at("alloc"), f"is missing; a {job.state} job holds something")
    if job.state is JobState.RUNNING and job.start is None:
        raise InputError(fields.at("start"), "is missing; a running job has started at some time")
    _absent(fields, bool(job.blocked), "blocked", "only a pending job can be blocked")
    _absent(fields, bool(job.promised), "promised", "room is promised to pending jobs only")
    _absent(fields, job.patience_spent, "patience_spent", "only pending jobs wait for a start")
    _absent(fields, job.stopped_at is not None, "stopped_at", "only of a pending job it matters")


def _absent(fields: Fields, there: bool, key: str, why: str) -> None:
    if there:
        raise InputError(fields.at(key), f"must be left out; {why}")


def _check_nodes_exist(jobs: Iterable[SnapshotJob], nodes: set[str]) -> None:
    for i, job in enumerate(jobs):
        for key, parts in (("alloc", job.alloc), ("promised", job.promised)):
            for node in parts:
                if node not in nodes:
                    raise InputError(join(f"$.jobs[{i}].{key}", node), "there is no such node in nodes")


def encode_node(node: SnapshotNode) -> dict[str, Any]:
    """A node as a JSON value."""
    result: dict[str, Any] = {"name": node.name, "up": node.up, "total": dict(node.total)}
    optional: dict[str, Any] = {
        "features": sorted(node.features),
        "held_elsewhere": dict(node.held_elsewhere),
        "coming_elsewhere": dict(node.coming_elsewhere),
        "unit": node.unit,
        "power": encode_powers(node.power),
        "health": None if node.health == 1 else node.health,
        "state": node.state,
        "state_reason": node.state_reason,
        "partitions": list(node.partitions),
    }
    return result | {key: value for key, value in optional.items() if value or value == 0}


def encode_job(job: SnapshotJob) -> dict[str, Any]:
    """A job as a JSON value."""
    result: dict[str, Any] = {
        "id": job.id,
        "name": job.name,
        "state": job.state.value,
        "user": job.user,
        "user_level": job.user_level,
        "task_level": job.task_level,
        "submit": job.submit,
    }
    if job.start is not None:
        result["start"] = job.start
    if job.state is not JobState.PENDING:
        result["alloc"] = _by_node(job.alloc)
    if job.request is not None:
        result["request"] = encode_request(job.request)
    if not job.preemptable:
        result["preemptable"] = False
    if job.how is not How.REQUEUE:
        result["how"] = job.how.value
    if job.promised:
        result["promised"] = _by_node(job.promised)
    if job.unit:
        result["unit"] = dict(job.unit)
    if job.elastic:
        result["elastic"] = encode_elastic(job.elastic)
    said = {key: getattr(job, key) for key in _SAID}
    moments = {key: getattr(job, key) for key in ("predicted_end", "stopped_at", "saved_at")}
    result |= {key: value for key, value in said.items() if value}
    return result | {key: moment for key, moment in moments.items() if moment is not None}


def _by_node(parts: Mapping[str, Amounts]) -> dict[str, dict[str, int]]:
    return {node: dict(amounts) for node, amounts in parts.items()}
