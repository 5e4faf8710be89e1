"""Jobs that are to have nodes of equal compute power, started on just these.

May import: `actions`, `decisions`, `exchanging`, `keeping`, `models`.
"""
