"""A real Slurm (22.05 and later), by its commands."""
