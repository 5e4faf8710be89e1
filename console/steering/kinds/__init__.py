"""What is wanted of the cluster for a job, one kind a file. They know the ledger; the ledger knows none of them."""
