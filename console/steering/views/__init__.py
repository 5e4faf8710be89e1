"""Pages of steering: plans, approvals, incidents, the switch.

May import: `models`, `operations`, `plans`.
"""
