"""Adapters of the `Cluster` port. They read and act; they never plan."""
