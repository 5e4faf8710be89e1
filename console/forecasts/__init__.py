"""How long runs lasted, and how long jobs will run: history, the model in force, a forecast for every job.

May import: `scheduler.forecast`, `console.cluster` and what is below it.
"""
