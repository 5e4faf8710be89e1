"""An observation as Giveway itself records it: JSON text out, and the same observation back in.

What has its default is left out, so that ten thousand jobs stay small. Texts are kept as they are, hostile or not.
What is kept for jobs and when nodes were booted is not recorded: nothing is planned by it.
"""

import json
from collections.abc import Mapping
from dataclasses import MISSING, fields
from operator import attrgetter
from typing import Any

from scheduler.contracts.errors import InputError, kind
from scheduler.contracts.fields import (
    Fields,
    Reader,
    amounts,
    choice,
    flag,
    listing,
    mapping,
    maybe,
    number,
    whole,
)
from scheduler.contracts.powers import power
from scheduler.contracts.snapshot import schema
from scheduler.model.jobs import JobState, ObservedJob, Request
from scheduler.model.nodes import SnapshotNode
from scheduler.model.observation import Observation, ObservedPartition

SCHEMA = "giveway.observation/1"


def _text(value: object, path: str) -> str:
    """A text as it was observed, whatever is in it."""
    if not isinstance(value, str):
        raise InputError(path, f"must be a text, not {kind(value)}")
    return value


def _integer(value: object, path: str) -> int:
    """Any whole number: a priority or a clock may be odd, and is kept as it was seen."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise InputError(path, f"must be a whole number, not {kind(value)}")
    return value


def _set(value: object, path: str) -> frozenset[str]:
    return frozenset(_texts(value, path))


def _counted(value: object, path: str) -> tuple[int, frozenset[str]]:
    """A number of nodes and a set of features, as a pair."""
    if not isinstance(value, list | tuple) or len(value) != 2:
        raise InputError(path, "must be a number of nodes and a list of features")
    return _integer(value[0], path), _set(value[1], path)


def _maker(made: type, readers: Mapping[str, Reader[Any]]) -> Reader[Any]:
    """The reader of an object that is one `made`."""
    needed = {field.name for field in fields(made) if _default(field) is MISSING}

    def read(value: object, path: str) -> Any:
        given = Fields(value, path, readers)
        keys = (key for key in readers if key in needed or given.has(key))
        return made(**{key: given.need(key, readers[key]) for key in keys})

    return read


def _default(field: Any) -> Any:
    if field.default is not MISSING:
        return field.default
    return MISSING if field.default_factory is MISSING else field.default_factory()


_texts = listing(_text)
_NODE: dict[str, Reader[Any]] = {
    "up": flag,
    "total": amounts,
    "features": _set,
    **dict.fromkeys(("held_elsewhere", "coming_elsewhere", "inner"), amounts),
    "unit": maybe(_text),
    "power": mapping(power),
    "health": number,
    "partitions": _texts,
    **dict.fromkeys(("name", "state", "state_reason"), _text),
}
_PARTITION: dict[str, Reader[Any]] = {
    **dict.fromkeys(("name", "state"), _text),
    "nodes": _texts,
    "units": maybe(mapping(_text)),
    "cpus_per_node": maybe(_integer),
}
_REQUEST: dict[str, Reader[Any]] = {
    **dict.fromkeys(("nodes", "count", "parts"), _integer),
    **dict.fromkeys(("exclusive", "partial", "in_unit"), flag),
    "one_of": listing(amounts),
    **dict.fromkeys(("per_node", "spread", "unit"), amounts),
    **dict.fromkeys(("features", "only_nodes", "not_nodes"), _set),
    **dict.fromkeys(("any_of", "same_of"), listing(_set)),
    "counted": listing(_counted),
}
_JOB: dict[str, Reader[Any]] = {
    "state": choice(JobState),
    "partitions": _texts,
    **dict.fromkeys(("alloc", "inner"), mapping(amounts)),
    "request": maybe(_maker(Request, _REQUEST)),
    **dict.fromkeys(("held", "batch", "requeue", "was_requeueable", "to_be_placed"), flag),
    **dict.fromkeys(("submit", "priority", "nice", "restarts"), _integer),
    **dict.fromkeys(("start", "time_limit_s", "deadline", "estimated_start"), maybe(_integer)),
    **dict.fromkeys(("eligible", "no_requeue_since"), maybe(_integer)),
    **dict.fromkeys(
        (
            "id", "name", "user", "account", "wckey", "comment", "qos", "slurm_state", "slurm_reason",
            "array_job_id", "het_job_id", "reservation", "dependency", "unplannable", "licenses",
            "not_understood", "reason_code",
        ),
        _text,
    ),
}  # fmt: skip
READERS: dict[type, dict[str, Reader[Any]]] = {
    SnapshotNode: _NODE,
    ObservedPartition: _PARTITION,
    Request: _REQUEST,
    ObservedJob: _JOB,
}
_NAMES = {made: tuple([field.name for field in fields(made)]) for made in READERS}
_VALUES = {made: attrgetter(*names) for made, names in _NAMES.items()}
_DEFAULTS = {made: [_default(field) for field in fields(made)] for made in READERS}


def encode_observation(observation: Observation) -> str:
    """The observation as JSON text. A cycle waits for it: the encoder of C goes through it, and asks `_plain` only for
    what JSON does not know."""
    document = {
        "schema": SCHEMA,
        "cluster": observation.cluster,
        "taken_at": observation.taken_at,
        "nodes": observation.nodes,
        "partitions": observation.partitions,
        "jobs": observation.jobs,
        "faults": observation.faults,
    }
    return json.dumps(document, separators=(",", ":"), default=_plain)


def decode_observation(obj: object) -> Observation:
    """The observation in a JSON value. Raises `InputError` with the path of the first fault."""
    top = Fields(obj, "$", ("schema", "cluster", "taken_at", "nodes", "partitions", "jobs", "faults"))
    schema(top, SCHEMA)
    return Observation(
        cluster=top.need("cluster", _text),
        taken_at=top.need("taken_at", whole),
        nodes=top.need("nodes", listing(_maker(SnapshotNode, _NODE))),
        partitions=top.need("partitions", listing(_maker(ObservedPartition, _PARTITION))),
        jobs=top.need("jobs", listing(_maker(ObservedJob, _JOB))),
        faults=top.need("faults", _texts),
    )


def _plain(value: Any) -> Any:
    """One level of it in what JSON knows."""
    made = type(value)
    if made in _NAMES:
        each = zip(_NAMES[made], _VALUES[made](value), _DEFAULTS[made], strict=True)
        return {name: said for name, said, default in each if said is not default and said != default}
    if isinstance(value, frozenset):
        return sorted(value)
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"an observation holds a {made.__name__}")
