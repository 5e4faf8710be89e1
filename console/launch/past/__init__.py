"""A made-up week before a demonstration's first minute, as the cycles would have written it; never on a real cluster.

May import: `console.needs` and what is below it; the simulator, on which the week is played.
"""
