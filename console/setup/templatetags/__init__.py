"""Template tags of the set-up."""
