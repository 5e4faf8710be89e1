"""Cycles, plans and their actions: what was intended, done and verified.

May import: no other folder of this app.
"""

from console.steering.models.actions import STOP_KINDS, ActionState, PlannedAction
from console.steering.models.checkpoints import Checkpoint, Via
from console.steering.models.chosen import ChosenPlace
from console.steering.models.cycles import Cycle, CycleLease, CycleMeter, CycleOutcome, StoredSnapshot
from console.steering.models.failed_starts import FailedStart
from console.steering.models.incidents import Incident, IncidentKind
from console.steering.models.kept import KeptPlace
from console.steering.models.line import LinePlace
from console.steering.models.pace import CyclePace, SteeringMinute
from console.steering.models.patience import Patience
from console.steering.models.pauses import Pause
from console.steering.models.plans import BEGUN_STATES, OPEN_STATES, Plan, PlanKind, PlanState, PlanVersion
from console.steering.models.requeueing import NotRequeued
from console.steering.models.victims import Fate, Victim

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
