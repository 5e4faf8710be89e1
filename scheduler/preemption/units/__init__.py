"""Requests and victims in whole units: what is taken, given back, and given in part (spec 2, document 001).

May import: `scheduler.preemption` and what it may.
"""
