"""Projects: size, grade, urgency, members and task patterns, from which priorities are derived."""
