"""The mirror of the cluster in the database; `connect` is the only factory of adapters."""
