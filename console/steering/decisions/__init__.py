"""What a cycle knows and decides: facts in, verdicts out, and the second look before anybody is stopped.

May import: `exchanging`, `models`.
"""
