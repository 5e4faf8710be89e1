"""What an answer is made of, for pages and the API: they show it, and do not plan."""

from scheduler.reconcile.compare import ComparedJob, ComparedStop, Comparison, Move, NamedLevel, Start

__all__ = ["ComparedJob", "ComparedStop", "Comparison", "Move", "NamedLevel", "Start"]
