"""A job's request as contract A writes it: `nodes` with `per_node`, or `spread` (units come later)."""

from typing import Any

from scheduler.contracts.errors import InputError
from scheduler.contracts.fields import Fields, amounts, flag, later, names, positive
from scheduler.model.jobs import Request

_KEYS = ("nodes", "per_node", "spread", "features", "only_nodes", "not_nodes", "exclusive")
_UNIT_KEYS = ("unit", "count", "partial")


def decode_request(value: object, path: str) -> Request:
    """A request in exactly one of its shapes, asking for something."""
    fields = Fields(value, path, (*_KEYS, *_UNIT_KEYS))
    for key in _UNIT_KEYS:
        fields.get(key, later("a request in units"), None)
    several, spread = fields.has("nodes") or fields.has("per_node"), fields.has("spread")
    if several == spread:
        both = "has two shapes" if several else "has no shape"
        raise InputError(path, f"{both}; give either nodes with per_node, or spread")
    request = Request(
        nodes=fields.need("nodes", positive) if several else 0,
        per_node=fields.need("per_node", amounts) if several else {},
        spread=fields.need("spread", amounts) if spread else {},
        features=fields.get("features", names, frozenset()),
        only_nodes=fields.get("only_nodes", names, frozenset()),
        not_nodes=fields.get("not_nodes", names, frozenset()),
        exclusive=fields.get("exclusive", flag, False),
    )
    asked, key = (request.per_node, "per_node") if several else (request.spread, "spread")
    if not any(asked.values()):
        raise InputError(fields.at(key), 'asks for nothing; name an amount, for example {"cpu": 1}')
    return request


def encode_request(request: Request) -> dict[str, Any]:
    """The request as contract A has it, without what is default; names sorted."""
    result: dict[str, Any] = (
        {"nodes": request.nodes, "per_node": dict(request.per_node)}
        if request.nodes
        else {"spread": dict(request.spread)}
    )
    for key in ("features", "only_nodes", "not_nodes"):
        if listed := getattr(request, key):
            result[key] = sorted(listed)
    if request.exclusive:
        result["exclusive"] = True
    return result
