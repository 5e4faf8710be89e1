"""The views of these pages: the overview, a partition now, jobs, the priority file, help.

May import: all of this app, and the apps below it.
"""
