"""Pages about projects: their list, one of them, its form, its members, requests.

May import: all of this app, and the apps below it.
"""
