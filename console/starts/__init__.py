"""When waiting jobs are expected to start, and how likely running ones are stopped: told in the background.

May import: `console.steering` and what is below it, `scheduler.forecast`. The cycle does not know this folder.
"""
