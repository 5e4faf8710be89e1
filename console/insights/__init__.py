"""Weeks and months, added up by day: waits, stops, work and forecasts against the same time before.

May import: `console.history` and what is below it.
"""
