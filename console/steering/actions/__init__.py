"""Carrying plans out: at most once, seen to work, else undone; and what jobs save before they stop.

May import: `decisions`, `line`, `models`, `operations`.
"""
