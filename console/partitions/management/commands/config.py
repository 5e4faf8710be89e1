"""`manage.py config`: the priority file out and in (contract B)."""

import json
import os
import sys
import tempfile
from pathlib import Path
from typing import Any, NoReturn

from django.core.exceptions import ValidationError
from django.core.management.base import BaseCommand, CommandParser

from console.audit.services import SYSTEM
from console.cluster.connect import configured_cluster
from console.core.concurrent_changes import ChangedSinceError
from console.core.shell import shell_actor
from console.partitions.models import Partition
from console.partitions.priority_file import ImportResult, attached_cluster, export_config, import_config
from scheduler.contracts.errors import InputError
from scheduler.contracts.jsontext import parse


class Command(BaseCommand):
    """Whatever is wrong with the input is one line on stderr and status 2, and nothing is changed."""

    help = "Export or import the priority file: projects and partitions of a cluster in one JSON document."

    def add_arguments(self, parser: CommandParser) -> None:
        """`export`, `import FILE`."""
        commands = parser.add_subparsers(dest="command", required=True)
        out = commands.add_parser("export", help="Print the priority file.")
        out.add_argument("--partition", metavar="X", help="Only this partition's entry, without projects.")
        out.add_argument("-o", "--output", metavar="FILE", help="Write to FILE instead of printing.")
        into = commands.add_parser(
            "import", help="Make projects and partitions what the file says; others are left as they are."
        )
        into.add_argument("file", metavar="FILE", help="The priority file; - reads standard input.")
        into.add_argument("--dry-run", action="store_true", help="Show the differences and change nothing.")
        into.add_argument("--reason", help="For the audit log (default: Imported from FILE).")
        into.add_argument(
            "--actor", metavar="NAME", help="For the audit log (default: shell:<your user name>)."
        )

    def handle(self, *, command: str, **options: Any) -> None:
        """Run one of the sub-commands."""
        try:
            if command == "export":
                self._export(options)
            else:
                self._import(options)
        except (InputError, ChangedSinceError) as error:
            self._refuse(str(error))
        except ValidationError as error:
            self._refuse(" ".join(error.messages))

    def _export(self, options: dict[str, Any]) -> None:
        cluster, partition = configured_cluster(), None
        if options["partition"] is not None:
            partition = (
                Partition.objects.select_related("cluster", "revision")
                .filter(cluster=cluster, name=options["partition"], revision__isnull=False)
                .first()
            )
            if partition is None:
                self._refuse(f"There is no partition {options['partition']} in cluster {cluster.name}.")
        text = json.dumps(export_config(cluster, partition), indent=1, ensure_ascii=False) + "\n"
        if options["output"] is None:
            self.stdout.write(text, ending="")
        else:
            self._write(Path(options["output"]), text)

    def _import(self, options: dict[str, Any]) -> None:
        file, actor = options["file"], options["actor"] or shell_actor()
        if actor.casefold() == SYSTEM:
            self._refuse(f"--actor: {SYSTEM} stands for the system itself; name a person.")
        source = "standard input" if file == "-" else file
        document = parse(self._read(file))
        configured_cluster()  # so that it is attached before anything has run
        result = import_config(
            actor=actor,
            cluster=attached_cluster(document),
            document=document,
            reason=options["reason"] or f"Imported from {source}",
            dry_run=options["dry_run"],
        )
        self._tell(result)

    def _tell(self, result: ImportResult) -> None:
        count = len(result.differences)
        changes = f"{count} change{'' if count == 1 else 's'}"
        if not result.changes:
            self.stdout.write("Nothing to change: everything is as the file says.")
        elif result.dry_run:
            self.stdout.write(f"Dry run, nothing was changed. Importing this makes {changes}:")
        else:
            self.stdout.write(f"Imported, {changes}:")
        for difference in result.differences:
            self.stdout.write(f"  {difference}")
        left = [
            f"{what} {', '.join(names)}"
            for what, names in (("projects", result.projects_left), ("partitions", result.partitions_left))
            if names
        ]
        if left:
            self.stdout.write(f"Left as they are, because the file does not name them: {'; '.join(left)}.")

    def _read(self, file: str) -> bytes:
        try:
            return sys.stdin.buffer.read() if file == "-" else Path(file).read_bytes()
        except OSError as error:
            self._refuse(f"{file} cannot be read: {error.strerror}.")

    def _write(self, path: Path, text: str) -> None:
        """All or nothing here too: a full disk must not leave half a priority file under the name of the last one."""
        part = None
        try:
            with tempfile.NamedTemporaryFile("w", dir=path.parent, delete=False, encoding="utf-8") as file:
                part = Path(file.name)
                file.write(text)
            part.chmod(0o666 & ~_umask())
            part.replace(path)
        except OSError as error:
            if part is not None:
                part.unlink(missing_ok=True)
            self._refuse(f"{path} cannot be written: {error.strerror}.")

    def _refuse(self, message: str) -> NoReturn:
        self.stderr.write(message)
        sys.exit(2)


def _umask() -> int:
    """The process's umask; it can only be read by setting it."""
    mask = os.umask(0o077)
    os.umask(mask)
    return mask
