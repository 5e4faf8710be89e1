"""What was: a line for each partition and minute, recorded observations, and "what if" asked of them.

May import: `console.reports` and what is below it.
"""
