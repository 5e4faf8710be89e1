"""The compute power of a node's processors as JSON: a figure per resource, or a list with one for each device."""

from collections.abc import Mapping
from typing import Any

from scheduler.contracts.errors import InputError, join
from scheduler.contracts.fields import Fields, above_zero, amounts, listing, mapping
from scheduler.model.nodes import Power
from scheduler.model.resources import Amounts


def power(value: object, path: str) -> Power:
    """A number above 0, or a list of them."""
    if not isinstance(value, list | tuple):
        return above_zero(value, path)
    several = listing(above_zero)(value, path)
    if not several:
        raise InputError(path, "is empty; leave the resource out where nothing is measured")
    return several


def node_powers(fields: Fields) -> dict[str, Power]:
    """Those of a node; where they are a list, as many as the node has devices."""
    powers: dict[str, Power] = fields.get("power", mapping(power), {})
    total: Amounts = fields.get("total", amounts, {})
    for resource, figures in powers.items():
        if isinstance(figures, tuple) and len(figures) != total.get(resource, len(figures)):
            message = (
                f"{len(figures)} figures for {total[resource]}; give one for each, or one number for all"
            )
            raise InputError(join(fields.at("power"), resource), message)
    return powers


def encode_powers(powers: Mapping[str, Power]) -> dict[str, Any]:
    """As JSON has them."""
    return {name: list(each) if isinstance(each, tuple) else each for name, each in powers.items()}
