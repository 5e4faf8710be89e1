"""The files of the installation: nobody else on this machine reads or writes them."""

from collections.abc import Iterator

from django.conf import settings

from console.core.files import is_open, private_files
from console.health.doctor.findings import Finding, counted, fail, ok

NAME = "files"


def check_files() -> Iterator[Finding]:
    """The home folder, the database where it is a file, the anchors of the audit log, the secret key."""
    opened = [path for path in private_files(settings.HOME, settings.DATABASES["default"]) if is_open(path)]
    if is_open(settings.HOME):
        yield fail(NAME, "doctor.files.home", path=str(settings.HOME))
    if opened:
        yield fail(NAME, counted("doctor.files.open", len(opened)), n=len(opened), path=str(opened[0]))
    if not opened and not is_open(settings.HOME):
        yield ok(NAME, "doctor.files.private", path=str(settings.HOME))
