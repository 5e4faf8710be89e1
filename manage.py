#!/usr/bin/env python
"""Giveway's command line: Django's commands and our own (`run`, `steer`, `config`, `audit`)."""

import gc
import os
import select
import sys

INTERRUPTED = 130
"""As a shell says it of whatever Ctrl-C has ended: nobody who types that wants a traceback."""


def main() -> None:
    """Run a management command; the settings are the embedded ones unless DJANGO_SETTINGS_MODULE says otherwise."""
    if sys.stdout is not None:
        sys.stdout.reconfigure(errors="replace")  # type: ignore[union-attr]  # a terminal in an old locale
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "console.settings.local")
    # What is loaded stays: with Python's own numbers the collector takes a fifth of the time of every start.
    gc.set_threshold(50_000, 10, 10)
    from django.conf import settings
    from django.core.exceptions import ImproperlyConfigured
    from django.core.management import execute_from_command_line
    from django.db import DatabaseError

    try:
        _ = (
            settings.INSTALLED_APPS
        )  # what the environment lacks is one sentence, and no command is worth a start
    except ImproperlyConfigured as error:
        sys.exit(str(error))
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)
    try:
        execute_from_command_line(sys.argv)
    except DatabaseError as error:
        from console.core.databases import unusable

        told = unusable(error)
        if told is None:
            raise
        sys.exit(told)
    except BrokenPipeError:
        if not _nobody_reads():
            raise
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)


def _nobody_reads() -> bool:
    """Whether it was our output that is not wanted any more: manage.py config export | head."""
    output, asked = sys.stdout.fileno(), select.poll()
    asked.register(output, 0)  # whether its other end is closed is told in any case
    if not asked.poll(0):
        return False
    os.dup2(os.open(os.devnull, os.O_WRONLY), output)
    return True


if __name__ == "__main__":
    main()
