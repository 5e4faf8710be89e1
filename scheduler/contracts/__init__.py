"""The stable formats (snapshot, plan, priority file) as pure codecs: JSON value to model and back. No I/O.

May import: `scheduler.model`.
"""
