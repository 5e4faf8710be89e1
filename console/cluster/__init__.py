"""The mirror of the cluster in the database; `connect` is the only factory of adapters.

May import: `console.audit` and what is below it; adapters in `connect` only.
"""
