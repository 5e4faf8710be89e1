"""How long jobs will run, from those that have ended: no clock, no chance, no files (docs/methods/forecast.md).

May import: `scheduler.contracts` (and numpy).
"""
