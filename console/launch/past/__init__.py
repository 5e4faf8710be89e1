"""A made-up week before a demonstration's first minute: played on the simulator in fast time, decided by the planner,
and written as the cycles would have written it. Never on a real cluster, never where anything has been seen."""
