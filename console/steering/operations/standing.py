"""What every page says before anything else: cycles that failed, the pauses that hold, the incidents that are open, and
until when a demonstration's past is made up."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from console.accounts.rules import once
from console.cluster.models import Cluster
from console.steering.models import Incident, Pause
from console.steering.streaks import Streak, read, what_holds


@dataclass(frozen=True, slots=True)
class SteeringNotices:
    """Pauses, and failures on whose account nobody is stopped, the whole cluster's first; open incidents, the latest
    first. `made_up_until`: what is told of before is made up; None but in a demonstration."""

    pauses: tuple[Pause, ...] = ()
    streaks: tuple[Streak, ...] = ()
    incidents: tuple[Incident, ...] = ()
    made_up_until: datetime | None = None


def standing_for(user: Any, cluster_name: str) -> SteeringNotices:
    """The same, read once for each request of a person."""
    return once(user, "steering notices", lambda: standing(cluster_name))


def standing(cluster_name: str) -> SteeringNotices:
    """Read all of it, in three queries: it is little, and mostly there is none."""
    found = Cluster.objects.filter(name=cluster_name).values_list("made_up_until", "meter__failing").first()
    made_up_until, failing = found or (None, None)
    return SteeringNotices(
        tuple(Pause.objects.filter(cluster__name=cluster_name).order_by("partition")),
        tuple(what_holds(read(failing or {}).values())),
        tuple(Incident.objects.filter(cluster__name=cluster_name, closed_at=None)),
        made_up_until,
    )
