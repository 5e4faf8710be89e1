"""Nodes of equal compute power for jobs that wait for their slowest one (spec 5, document 004).

May import: `scheduler.preemption` and what it may.
"""
