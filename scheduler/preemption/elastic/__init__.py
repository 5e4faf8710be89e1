"""Elastic jobs: workers that they give up before anybody is stopped, and get back (spec 4, document 003).

May import: `units`, `scheduler.preemption` and what it may.
"""
