"""Pages of the first minutes: the two that need no sign-in, and the steps.

May import: all of this app, and the apps below it.
"""
