"""What was: a line per partition and minute, recorded observations, and "what if" asked of them."""
