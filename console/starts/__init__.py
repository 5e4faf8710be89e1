"""When waiting jobs are expected to start: the queue of the mirror, played forward in the background.

May import: `console.steering` and what is below it, `scheduler.forecast`. The cycle does not know this folder.
"""
