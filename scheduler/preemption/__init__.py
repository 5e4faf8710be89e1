"""Whom to stop, and only when it helps: eligibility, candidates, cost, placement, the planner."""
