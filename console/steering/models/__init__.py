"""Cycles, plans and their actions: what was intended, done and verified.

May import: no other folder of this app.
"""

from console.steering.models.cycles import (
    Cycle,
    CycleLease,
    CycleMeter,
    CycleOutcome,
    CyclePace,
    Pause,
    SteeringMinute,
    StoredSnapshot,
)
from console.steering.models.job_settings import ChosenPlace, KeptPlace, LinePlace, NotRequeued, Patience
from console.steering.models.plans import (
    BEGUN_STATES,
    OPEN_STATES,
    STOP_KINDS,
    ActionState,
    Checkpoint,
    FailedStart,
    Fate,
    Incident,
    IncidentKind,
    Plan,
    PlanKind,
    PlannedAction,
    PlanState,
    PlanVersion,
    Via,
    Victim,
)

__all__ = [
    "BEGUN_STATES",
    "OPEN_STATES",
    "STOP_KINDS",
    "ActionState",
    "Checkpoint",
    "ChosenPlace",
    "Cycle",
    "CycleLease",
    "CycleMeter",
    "CycleOutcome",
    "CyclePace",
    "FailedStart",
    "Fate",
    "Incident",
    "IncidentKind",
    "KeptPlace",
    "LinePlace",
    "NotRequeued",
    "Patience",
    "Pause",
    "Plan",
    "PlanKind",
    "PlanState",
    "PlanVersion",
    "PlannedAction",
    "SteeringMinute",
    "StoredSnapshot",
    "Via",
    "Victim",
]
