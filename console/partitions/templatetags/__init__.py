"""Template tags of the policy's pages."""
