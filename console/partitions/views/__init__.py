"""A partition's policy: its form, its drafts, its revisions, and the way from one to another."""
