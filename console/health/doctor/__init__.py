"""What could be wrong with an installation, each with its cure: one function for each check, run by `run`.

May import: all of this app, and the apps below it.
"""
