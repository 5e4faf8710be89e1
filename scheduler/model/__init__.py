"""Frozen facts: resources, nodes, jobs, policies, observations, snapshots, plans, actions and reasons.

May import: no other folder.
"""
