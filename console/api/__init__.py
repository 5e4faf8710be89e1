"""API v1: one module for each resource. It reads selectors and calls services, like pages.

May import: `console.needs` and what is below it; never `scheduler.preemption` or an adapter.
"""
