"""Pages of a partition's policy: its form, its drafts, its revisions, and the way from one to another.

May import: all of this app, and the apps below it.
"""
