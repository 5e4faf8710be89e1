"""API v1: one file per resource."""
