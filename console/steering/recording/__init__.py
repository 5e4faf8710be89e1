"""What a cycle writes down for others: the mirror, the meters, the rules for the job_submit plugin.

May import: `decisions`, `line`, `models`, `plans`.
"""
