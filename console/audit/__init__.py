"""The append-only, hash-chained log of everything that was decided and done.

May import: `console.accounts` and what is below it.
"""
