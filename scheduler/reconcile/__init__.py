"""From what is wanted and what is observed to what is to be done: `decide()` is the only door.

May import: `scheduler.model`, `scheduler.priority` and `scheduler.preemption`.
"""
