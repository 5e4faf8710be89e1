"""What of a job may come and go, as contract A writes it: its `unit`, and how it is `elastic`."""

from typing import Any

from scheduler.contracts.errors import InputError, join
from scheduler.contracts.fields import Fields, amounts, choice, maybe, positive, text, whole
from scheduler.model.jobs import Elastic, JobState, SnapshotJob
from scheduler.model.plan import Shrinking

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
    for kind in _KINDS:
        least, wish = numbers[f"min_{kind}"], numbers[f"wish_{kind}"]
        if least is None:
            if wish is not None:
                raise InputError(fields.at(f"wish_{kind}"), f"needs min_{kind}: how few it can do with")
            continue
        other = next((each for each in _KINDS if each != kind and numbers[f"min_{each}"] is not None), "")
        if other:
            raise InputError(fields.at(f"min_{other}"), f"stands beside min_{kind}; give one of them")
        if wish is not None and wish < least:
            raise InputError(fields.at(f"wish_{kind}"), f"is below min_{kind}")
    if all(numbers[f"min_{kind}"] is None for kind in _KINDS):
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
