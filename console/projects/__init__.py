"""Projects: size, grade, urgency, members and task patterns, from which priorities are derived.

May import: `console.forecasts`, `console.cluster` and what is below it.
"""
