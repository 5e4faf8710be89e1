"""Sums for pages and the API that are only read: levels, own jobs, histories, work, the tally of shadow.

May import: `console.starts` and what is below it. The cycle does not know this folder.
"""
