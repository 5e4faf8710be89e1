"""Predicted starts: nodes kept until running jobs end, and waiting instead of stopping (spec 3.1, document 002).

May import: `balance`, `scheduler.preemption` and what it may.
"""
