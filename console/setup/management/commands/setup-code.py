"""`manage.py setup-code`: the one-time code with which the first administrator's account is made on the page."""  # noqa: N999

from typing import Any

from django.core.management.base import BaseCommand, CommandError

from console.setup.first_admin import VALID, TakenError, make_code


class Command(BaseCommand):
    """Whoever may run this on the server may take the seat."""

    help = "Print a one-time code for the first administrator (only while there is none)."

    def handle(self, *args: Any, **options: Any) -> None:
        """Print it; exit status 2 when there is an administrator."""
        try:
            code = make_code()
        except TakenError:
            raise CommandError(
                "There is an administrator already. Another one: manage.py account add NAME --role administrator",
                returncode=2,
            ) from None
        hours = int(VALID.total_seconds() // 3600)
        self.stdout.write(f"{code}\nType it at /setup/ within {hours} hours; it works once.")
