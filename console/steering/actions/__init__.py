"""Carrying plans out: at most once, seen to work, else undone; and what jobs save before they stop.

May import: `exchanging`, `decisions`, `line`, `models`, `operations`.
"""
