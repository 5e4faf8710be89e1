"""A deterministic Slurm in memory with its own clock.

May import: `scheduler.model` and `scheduler.ports`; no other adapter.
"""
