"""Slurm's line: what is seen of it, how it is to stand, and putting jobs in their places.

May import: `actions`, `decisions`, `models`, `plans`.
"""
