"""What people do: approve, reject, pause, close an incident, replay a decision.

May import: `actions`, `decisions`, `models`, `plans`.
"""
