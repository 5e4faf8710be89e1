"""Pages: signing in and out, one's own account, its tokens.

May import: all of this app, and the apps below it.
"""
