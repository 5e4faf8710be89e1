"""Partitions and their policies, in immutable revisions; the priority file in and out.

May import: `console.projects` and what is below it.
"""
