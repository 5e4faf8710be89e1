"""A request as contract A writes it: `nodes` with `per_node`, or `spread`, or `unit` with `count`."""

from typing import Any

from scheduler.contracts.errors import InputError
from scheduler.contracts.fields import Fields, amounts, flag, listing, names, positive
from scheduler.model.jobs import Request

_SHAPES = {
    "nodes": ("nodes", "per_node"),
    "spread": ("spread", "parts"),
    "unit": ("unit", "count", "partial"),
}
_KEYS = (
    *(key for keys in _SHAPES.values() for key in keys),
    "features",
    "only_nodes",
    "not_nodes",
    "exclusive",
    "any_of",
    "same_of",
    "counted",
    "one_of",
    "in_unit",
)
_ASKED = {"nodes": "per_node", "spread": "spread", "unit": "unit"}


def decode_request(value: object, path: str) -> Request:
    """A request in exactly one of its shapes, asking for something."""
    fields = Fields(value, path, _KEYS)
    shapes = [shape for shape, keys in _SHAPES.items() if any(fields.has(key) for key in keys)]
    if len(shapes) != 1:
        many = {0: "has no shape", 2: "has two shapes", 3: "has three shapes"}[len(shapes)]
        raise InputError(path, f"{many}; give either nodes with per_node, or spread, or unit with count")
    (shape,) = shapes
    request = Request(
        nodes=fields.need("nodes", positive) if shape == "nodes" else 0,
        per_node=fields.need("per_node", amounts) if shape == "nodes" else {},
        spread=fields.need("spread", amounts) if shape == "spread" else {},
        parts=fields.get("parts", positive, 0) if shape == "spread" else 0,
        unit=fields.need("unit", amounts) if shape == "unit" else {},
        count=fields.need("count", positive) if shape == "unit" else 0,
        partial=fields.get("partial", flag, True),
        features=fields.get("features", names, frozenset()),
        only_nodes=fields.get("only_nodes", names, frozenset()),
        not_nodes=fields.get("not_nodes", names, frozenset()),
        exclusive=fields.get("exclusive", flag, False),
        any_of=fields.get("any_of", listing(_some), ()),
        same_of=fields.get("same_of", listing(_some), ()),
        counted=fields.get("counted", listing(_counted), ()),
        one_of=fields.get("one_of", listing(amounts), ()),
        in_unit=fields.get("in_unit", flag, False),
    )
    _check_counted(request, fields)
    if request.parts and any(amount % request.parts for amount in request.spread.values()):
        raise InputError(fields.at("parts"), "every amount of spread must be a multiple of it")
    if request.count and request.exclusive:
        raise InputError(fields.at("exclusive"), "cannot be said of units; ask for nodes with per_node")
    if not any(getattr(request, _ASKED[shape]).values()):
        raise InputError(fields.at(_ASKED[shape]), 'asks for nothing; name an amount, for example {"cpu": 1}')
    return request


def _some(value: object, path: str) -> frozenset[str]:
    """A set of features, not empty: with none it would allow every node."""
    found = names(value, path)
    if not found:
        raise InputError(path, "names no feature")
    return found


def _counted(value: object, path: str) -> tuple[int, frozenset[str]]:
    fields = Fields(value, path, ("nodes", "features"))
    return fields.need("nodes", positive), fields.need("features", _some)


def _check_counted(request: Request, fields: Fields) -> None:
    if not request.counted:
        return
    if sum(count for count, _ in request.counted) != request.nodes:
        raise InputError(fields.at("counted"), "must add up to nodes")
    if request.one_of or request.in_unit:
        raise InputError(fields.at("counted"), "cannot stand beside one_of or in_unit")
    if request.any_of or request.same_of:
        raise InputError(fields.at("counted"), "cannot stand beside any_of or same_of")


def encode_request(request: Request) -> dict[str, Any]:
    """The request as contract A has it, without what is default; names sorted."""
    result: dict[str, Any]
    if request.nodes:
        result = {"nodes": request.nodes, "per_node": dict(request.per_node)}
    elif request.count:
        result = {"unit": dict(request.unit), "count": request.count, "partial": request.partial}
    else:
        result = {"spread": dict(request.spread)}
        if request.parts:
            result["parts"] = request.parts
    for key in ("features", "only_nodes", "not_nodes"):
        if listed := getattr(request, key):
            result[key] = sorted(listed)
    result |= {key: True for key in ("exclusive", "in_unit") if getattr(request, key)}
    for key in ("any_of", "same_of"):
        if sets := getattr(request, key):
            result[key] = [sorted(features) for features in sets]
    if request.one_of:
        result["one_of"] = [dict(one) for one in request.one_of]
    if request.counted:
        result["counted"] = [{"nodes": n, "features": sorted(features)} for n, features in request.counted]
    return result
