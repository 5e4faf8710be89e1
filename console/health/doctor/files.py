"""The files of the installation: nobody else on this machine reads or writes them, and there is room for them."""

import os
from collections.abc import Iterator
from pathlib import Path

from django.conf import settings

from console.core.files import free_bytes, is_open, own_folders, private_files
from console.health.doctor.findings import Finding, counted, fail, ok, warn

NAME = "files"
DISK = "disk"
MB = 1 << 20
LITTLE, NOTHING = 1024 * MB, 32 * MB
"""Bytes that are left: few enough to be told of, and too few for the next hour."""


def check_files() -> Iterator[Finding]:
    """The home folder, the database where it is a file, the anchors of the audit log, the secret key."""
    opened = [path for path in private_files(settings.HOME, settings.DATABASES["default"]) if is_open(path)]
    if is_open(settings.HOME):
        yield fail(NAME, "doctor.files.home", path=str(settings.HOME))
    if opened:
        yield fail(NAME, counted("doctor.files.open", len(opened)), n=len(opened), path=str(opened[0]))
    if not opened and not is_open(settings.HOME):
        yield ok(NAME, "doctor.files.private", path=str(settings.HOME))


def check_disk() -> Iterator[Finding]:
    """Whether this account can write where the home folder is, and the database where it is a file."""
    for folder in own_folders(settings.HOME, settings.DATABASES["default"]):
        yield _room_in(folder)


def _room_in(folder: Path) -> Finding:
    path = str(folder)
    if not os.access(folder, os.W_OK):
        return fail(DISK, "doctor.disk.closed", path=path)
    left = free_bytes(folder)
    if left < NOTHING:
        return fail(DISK, "doctor.disk.full", path=path, n=left // MB)
    if left < LITTLE:
        return warn(DISK, "doctor.disk.low", path=path, n=left // MB)
    return ok(DISK, "doctor.disk.room", path=path, n=left // LITTLE)
