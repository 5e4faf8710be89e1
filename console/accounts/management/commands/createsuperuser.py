"""Django's `createsuperuser` would make somebody who may do everything without having a role: not here."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError


class Command(BaseCommand):
    """Say what to use instead."""

    help = "Not used here: see `manage.py account add`."

    def handle(self, *args: Any, **options: Any) -> None:
        """Refuse."""
        raise CommandError("Use: manage.py account add NAME --role administrator", returncode=2)
