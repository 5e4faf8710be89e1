"""What is known of the speed of processors, what stands out, and what waiting for the slowest costs.

May import: no other folder of this app.
"""

from console.power.models.figures import (
    OPEN_STATES,
    Cause,
    DownNode,
    LossMark,
    Measurement,
    MeasurementState,
    MeasuringRule,
    NodeBoot,
    PowerReading,
    Processor,
    RunLoss,
    Source,
    ToldDriver,
)
from console.power.models.incidents import (
    OPEN_DRAINS,
    DrainState,
    NodeDrain,
    PowerIncident,
    StandoutKind,
    StandoutState,
)

__all__ = [
    "OPEN_DRAINS",
    "OPEN_STATES",
    "Cause",
    "DownNode",
    "DrainState",
    "LossMark",
    "Measurement",
    "MeasurementState",
    "MeasuringRule",
    "NodeBoot",
    "NodeDrain",
    "PowerIncident",
    "PowerReading",
    "Processor",
    "RunLoss",
    "Source",
    "StandoutKind",
    "StandoutState",
    "ToldDriver",
]
