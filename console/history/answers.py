"""What an answer is made of, for pages and the API: they show it, and do not plan."""

from scheduler.reconcile.compare import Comparison, Move, NamedLevel, Start, Stop, Told

__all__ = ["Comparison", "Move", "NamedLevel", "Start", "Stop", "Told"]
