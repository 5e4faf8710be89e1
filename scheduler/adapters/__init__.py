"""Adapters of `scheduler.ports.ClusterPort`. They read and act; they never plan.

May import: `scheduler.model` and `scheduler.ports`.
"""
