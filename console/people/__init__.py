"""Accounts of the console: what each may do and where, the last sign-in, tokens. It has no models; `accounts` changes.

May import: `console.setup` and what is below it.
"""
