"""The files of the installation: nobody else on this machine reads or writes them."""

from collections.abc import Iterator

from django.conf import settings

from console.core.files import is_open, private_files
from console.health.doctor.findings import Finding, fail, ok

NAME = "files"


def check_files() -> Iterator[Finding]:
    """The home folder, the database where it is a file, the anchors of the audit log, the secret key."""
    opened = [path for path in private_files(settings.HOME, settings.DATABASES["default"]) if is_open(path)]
    if is_open(settings.HOME):
        yield fail(
            NAME,
            f"Others on this machine may enter {settings.HOME}.",
            f"Let it have nothing but Giveway's files in it, and run: chmod 700 {settings.HOME}",
        )
    if opened:
        yield fail(
            NAME,
            f"Others on this machine may read or write {len(opened)} files of Giveway's, first {opened[0]}.",
            "Run as their owner: chmod go= FILE; whoever reads the database knows everything that is in it.",
        )
    if not opened and not is_open(settings.HOME):
        yield ok(NAME, f"{settings.HOME} and what is in it are this account's alone.")
