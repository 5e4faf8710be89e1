"""Pages of the reports: whole histories, a project's levels and work, the tally of shadow.

May import: all of this app, and the apps below it.
"""
