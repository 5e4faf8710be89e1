"""What could be wrong with an installation, each with its cure: one function per check, run by `run`."""
