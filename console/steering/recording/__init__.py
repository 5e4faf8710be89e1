"""What a cycle writes down for others: the mirror, the meters, the rules for the job_submit plugin."""
