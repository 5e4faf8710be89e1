"""The cycle: observe, verify, decide, record, act. `cycle.run_cycle` reads from top to bottom.

May import: `console.partitions` and what is below it; `scheduler` but for its adapters.
"""
