"""Whom to stop, and only when it helps: eligibility, candidates, cost, placement, the planner.

May import: `scheduler.model` and `scheduler.priority`.
"""
