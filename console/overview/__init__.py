"""Pages over several apps: the overview, a partition, a job."""
