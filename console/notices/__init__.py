"""Telling people by e-mail and webhook, in batches; off unless the settings switch it on.

May import: `console.history` and what is below it.
"""
