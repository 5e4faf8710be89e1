"""The console on a simulated cluster, as in the tests of steering, and the house of the pages' tests."""

from datetime import date, timedelta
from typing import Any

from console.cluster.models import Cluster
from console.core import clock
from console.insights.answers import counted
from console.insights.models import PartitionDay, RoomOfDay, StopsOfDay
from tests.steering.conftest import sim
from tests.ui.conftest import ada, house, house_of_the_module, signed_in

__all__ = ["ada", "house", "house_of_the_module", "signed_in", "sim"]
HOUR = 3600.0


def days_ago(days: int) -> date:
    """A day of the installation's calendar."""
    return clock.today() - timedelta(days=days)


def make_day(cluster: Cluster, ago: int, waited: dict[str, list[float]], **fields: Any) -> PartitionDay:
    """A day that was seen whole, in which two jobs ran all the time; `waited` has the waits of each level."""
    waits: dict[str, list[int]] = {level: [] for level in waited}
    for level, seconds in waited.items():
        for each in seconds:
            counted(waits[level], each)
    known = {"partition": "x", "minutes": 1440, "job_minutes": 2880, **fields}
    return PartitionDay.objects.create(cluster=cluster, day=days_ago(ago), waits=waits, **known)


def make_stops(cluster: Cluster, ago: int, gained: str, paid: str, **fields: Any) -> StopsOfDay:
    """A stop that lost two GPU hours."""
    known = {"partition": "x", "cause": "room", "stops": 1, "gpu_lost": 2 * HOUR, **fields}
    return StopsOfDay.objects.create(cluster=cluster, day=days_ago(ago), gained=gained, paid=paid, **known)


def make_room(cluster: Cluster, ago: int, project: str, **fields: Any) -> RoomOfDay:
    """A job that ran five GPU hours in room that others had left for it."""
    known = {"partition": "x", "jobs": 1, "gpu": 5 * HOUR, **fields}
    return RoomOfDay.objects.create(cluster=cluster, day=days_ago(ago), project=project, **known)
