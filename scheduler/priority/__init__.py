"""From projects to levels: scores, thresholds, overrides, keywords, quotas, and the total order of jobs."""
