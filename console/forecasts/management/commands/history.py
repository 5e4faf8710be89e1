"""`manage.py history`: finished jobs of a longer past, from Slurm's accounting."""

from datetime import date, datetime, time
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.utils import timezone

from console.cluster.connect import configured_cluster
from console.core import clock
from console.forecasts.recording import keep_accounted


class Command(BaseCommand):
    """An import begins where it is told; one that was cut short is simply begun again: nothing is kept twice."""

    help = "Keep finished jobs of a longer past, to forecast run times from (docs/forecasts.md)."

    def add_arguments(self, parser: CommandParser) -> None:
        """`import --since DAY`."""
        commands = parser.add_subparsers(dest="command", required=True)
        into = commands.add_parser("import", help="Read Slurm's accounting (sacct), a day at a time.")
        into.add_argument(
            "--since", required=True, type=date.fromisoformat, metavar="YYYY-MM-DD", help="the first day"
        )

    def handle(self, *, since: date, **options: Any) -> None:
        """Read day by day and say how far it is."""
        begin = datetime.combine(since, time(), timezone.get_current_timezone())
        if begin >= clock.now():
            raise CommandError(f"--since {since} is not in the past.")
        read = keep_accounted(configured_cluster(), int(begin.timestamp()), self._tell)
        if read is None:
            raise CommandError(
                "This cluster keeps no accounts (AccountingStorageType is not slurmdbd): there is no past to read."
            )
        if read.fault:
            raise CommandError(f"Slurm's accounting could not be read: {read.fault}")

    def _tell(self, until: int, end: int, kept: int) -> None:
        self.stdout.write(f"{clock.from_epoch(until):%Y-%m-%d %H:%M} UTC: {kept} jobs kept")
