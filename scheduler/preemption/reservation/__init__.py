"""Predicted starts: nodes kept for a job until running ones end, and waiting instead of stopping (spec 3.1, document
002)."""
