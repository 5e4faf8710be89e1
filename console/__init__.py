"""Giveway's console: observe, decide, record the intent, act, verify; and pages that only read the database."""

from console.celery import app as celery_app

__all__ = ["celery_app"]
