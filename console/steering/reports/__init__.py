"""What is told of it: the mirror, minutes, tallies, projects' work, the rules for the job_submit plugin."""
