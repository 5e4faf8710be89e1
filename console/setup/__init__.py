"""The first minutes of an installation: its first administrator, the cluster, what is on it, the people.

May import: `console.health` and what is below it.
"""
