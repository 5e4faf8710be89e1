"""A deterministic Slurm in memory with its own clock."""
