"""The priority file of somebody who administers partitions, but not the installation: their partitions, no projects."""

from collections.abc import Callable
from typing import Any

from django.http import HttpRequest
from django.utils.translation import gettext as _

from console.accounts.access import require_write
from console.accounts.permissions import Permission
from console.partitions.models import Partition
from console.partitions.selectors import administered_partitions
from scheduler.contracts.config import Config
from scheduler.contracts.errors import InputError

Allowed = Callable[[Config], None]
"""Raises `InputError` with the JSON path of the first entry that the file may not have."""


def require_import(request: HttpRequest) -> None:
    """403 for who may import nothing at all."""
    if not imports_some(request.user):
        require_write(request, Permission.CONFIG_IMPORT)


def imports_some(user: Any) -> bool:
    """Everything, or the partitions that one administers (`allowed_to` says which)."""
    return bool(user.has_perm(Permission.CONFIG_IMPORT) or administered_partitions(user))


def allowed_to(user: Any) -> Allowed | None:
    """What a file may hold that this person imports; None: anything.

    Who administers a partition is said by administrators of the installation only, as in the form: an entry has to
    name those who are named now, which an export does.
    """
    if user.has_perm(Permission.CONFIG_IMPORT):
        return None

    def check(config: Config) -> None:
        if config.projects:
            raise InputError("$.projects", _("only an administrator imports projects; leave them out"))
        for i, entry in enumerate(config.partitions):
            path, name = f"$.partitions[{i}]", entry.policy.name
            rows = Partition.objects.filter(cluster__name=config.cluster, name=name)
            partition = rows.prefetch_related("admins").first()
            if partition is None or not user.has_perm(Permission.CONFIG_IMPORT, partition):
                raise InputError(path, _("%s is not a partition of yours; leave it out") % name)
            if set(entry.admins) != {admin.username for admin in partition.admins.all()}:
                raise InputError(
                    f"{path}.admins",
                    _(
                        "only an administrator names who administers a partition; name those that an export names"
                    ),
                )

    return check
