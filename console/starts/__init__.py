"""When waiting jobs are expected to start: the queue of the mirror, played forward in the background.

May import: `scheduler.forecast`, `console.steering` (plans under way, kept nodes) and what is below it.
"""
