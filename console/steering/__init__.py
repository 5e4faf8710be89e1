"""The cycle: observe, verify, decide, record, act. `cycle.run_cycle` reads from top to bottom.

May import: `console.power` and what is below it; `scheduler` but for its adapters.
"""

from console.steering import sentences as sentences  # its lines are known before anybody says one
