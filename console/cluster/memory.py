"""What a process knows of a cluster and goes on with, in its memory: the run times it has learned, the rows it has
written. All of it follows from the database, so that a process that has nothing yet makes it anew."""

from collections.abc import Callable
from typing import Any, TypeVar

from console.cluster.models import Cluster

Known = TypeVar("Known")
_known: dict[tuple[Callable[[Cluster], Any], int], Any] = {}


def memory_of(kind: Callable[[Cluster], Known], cluster: Cluster) -> Known:
    """The one of this kind and cluster, made by `kind(cluster)` at its first use."""
    key = kind, cluster.pk
    if key not in _known:
        _known[key] = kind(cluster)
    found: Known = _known[key]
    return found


def forget_memory() -> None:
    """For tests, each of which begins with a new database."""
    _known.clear()
