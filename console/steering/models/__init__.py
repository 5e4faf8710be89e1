"""Cycles, plans and their actions: what was intended, done and verified."""

from console.steering.models.actions import STOP_KINDS, ActionState, PlannedAction
from console.steering.models.checkpoints import Checkpoint, Via
from console.steering.models.cycles import Cycle, CycleLease, CycleMeter, CycleOutcome, StoredSnapshot
from console.steering.models.pauses import Pause
from console.steering.models.plans import OPEN_STATES, Plan, PlanKind, PlanState

__all__ = [
    "OPEN_STATES",
    "STOP_KINDS",
    "ActionState",
    "Checkpoint",
    "Cycle",
    "CycleLease",
    "CycleMeter",
    "CycleOutcome",
    "Pause",
    "Plan",
    "PlanKind",
    "PlanState",
    "PlannedAction",
    "StoredSnapshot",
    "Via",
]
