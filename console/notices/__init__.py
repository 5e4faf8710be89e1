"""Telling people by e-mail and webhook, in batches; off unless the settings switch it on.

May import: `console.insights` and what is below it.
"""
