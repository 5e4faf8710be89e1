"""Replaying a recorded workload under several policies: no clock, no chance, no files; bytes in, figures out.

May import: `scheduler.contracts`, `scheduler.model`, `scheduler.priority` and `scheduler.preemption`.
"""
