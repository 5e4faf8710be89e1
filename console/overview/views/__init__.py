"""Pages that bring several apps together: the overview, a partition now, jobs, the priority file, help."""
