"""Pages of the first minutes: the two doors that open without sign-in, and the steps."""
