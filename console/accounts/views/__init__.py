"""Signing in and out, one's own account, its tokens."""
