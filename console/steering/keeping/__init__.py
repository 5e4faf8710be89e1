"""Nodes that are kept for the first job that waits: which, and having the cluster keep them.

May import: `actions`, `decisions`, `exchanging`, `models`.
"""
