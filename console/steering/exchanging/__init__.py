"""Exchanges of a node: a young running job is stopped and starts again on its new set, beside the one that waits.

May import: `models`.
"""
