"""The adapter for real Slurm clusters; everything outside uses `SlurmCluster` only.

May import: `scheduler.model` and `scheduler.ports`; no other adapter.
"""

from scheduler.adapters.slurm.cluster import SlurmCluster

__all__ = ["SlurmCluster"]
