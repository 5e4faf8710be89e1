"""Reports: what is read and summed up for pages and the API, and never written.

May import: `console.steering` and what is below it. A cycle does not know this folder.
"""
