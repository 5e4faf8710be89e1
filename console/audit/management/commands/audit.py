"""`manage.py audit`: is the log whole, and write its head down outside the database."""

import sys
from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from console.audit.anchors import anchor_file, write_anchor
from console.audit.verification import verify_chain


class Command(BaseCommand):
    """`verify` ends with status 1 when something is wrong and names the first broken row."""

    help = "Verify the audit log, or anchor it."

    def add_arguments(self, parser: CommandParser) -> None:
        """`verify`, `anchor`."""
        commands = parser.add_subparsers(dest="command", required=True)
        commands.add_parser(
            "verify", help="Read the whole log; status 1 and the first broken row if it is not whole."
        )
        commands.add_parser("anchor", help=f"Append the last row's number and hash to {anchor_file()}.")

    def handle(self, *, command: str, **options: Any) -> None:
        """Run one of the sub-commands."""
        if command == "anchor":
            anchor = write_anchor()
            self.stdout.write(f"Anchored: {anchor}" if anchor else "The log is empty: nothing to anchor.")
        else:
            self._verify()

    def _verify(self) -> None:
        found = verify_chain()
        for note in found.notes:
            self.stdout.write(note)
        if found.faults:
            for fault in found.faults:
                self.stderr.write(fault)
            self.stderr.write(f"{found.rows} rows were verified, up to row {found.last}.")
            sys.exit(1)
        self.stdout.write(
            f"The audit log is whole: {found.rows} rows verified, up to row {found.last}; "
            f"anchored up to row {found.anchored}."
        )
        if found.rows == 0:
            self.stdout.write("It has no rows, and there is nothing yet that would have made one.")
