"""Projects: size, grade, urgency, members and task patterns, from which priorities are derived.

May import: `console.cluster` and what is below it.
"""
