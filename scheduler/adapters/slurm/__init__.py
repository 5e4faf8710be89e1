"""The adapter for real Slurm clusters; everything outside uses `SlurmCluster` only."""

from scheduler.adapters.slurm.cluster import SlurmCluster

__all__ = ["SlurmCluster"]
