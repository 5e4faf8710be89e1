"""From verdicts to plans: what is intended, proposed, and what else could have been done.

May import: `actions`, `decisions`, `models`.
"""
