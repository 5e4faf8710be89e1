"""Pages over several apps: the overview, a partition, a job. It has no models and writes nothing.

May import: `console.needs` and what is below it; never `scheduler.preemption` or an adapter.
"""
