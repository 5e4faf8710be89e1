"""Compute power (document 004): how fast each processor is, measured through Slurm, typed or imported.

May import: `console.partitions` and what is below it.
"""
