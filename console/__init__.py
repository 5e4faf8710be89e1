"""Giveway's console: observe, decide, record the intent, act, verify; and pages that only read the database.

The Celery application is in `console.celery` and not loaded here: only workers and timers need it, and loading it
takes a third of the time in which a command starts. `celery -A console` finds it by itself.
"""
