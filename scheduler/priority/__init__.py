"""From projects to levels: scores, thresholds, overrides, keywords, quotas, and the total order of jobs.

May import: `scheduler.model`.
"""
