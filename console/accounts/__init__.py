"""Who is who: accounts, roles, permissions, signing in.

May import: `console.core` only.
"""
