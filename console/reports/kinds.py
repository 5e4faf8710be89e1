"""The resource that counts on a node."""

from collections.abc import Mapping

from console.steering.work import COUNTED


def main_resource(total: Mapping[str, int]) -> str:
    """GPUs where there are any, else NPUs, else CPUs."""
    return next((name for name in COUNTED if total.get(name)), "cpu")
