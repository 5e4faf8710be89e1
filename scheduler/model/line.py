"""A job in Slurm's line: what is seen of its priority, and what Slurm would give it without a nice."""

LOWEST = 2
"""A priority this low may be cut off: priority/multifactor gives no less than 1, priority/basic no less than 2."""


def unniced(priority: int, nice: int) -> int:
    """The priority without its nice. Of a job with nothing to its name Slurm says 1 where it is 0."""
    return (priority if priority > 1 else 0) + nice
