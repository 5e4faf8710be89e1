"""Partitions and their policies, in immutable revisions; the priority file in and out."""
