"""The accounts of the demonstration: everybody knows their password, so they are made where that does no harm."""

import os
from pathlib import Path

from console.accounts.models import Role, User
from console.core.installation import is_production, is_simulated

PASSWORD = "giveway-demo"  # noqa: S105 - printed at the start; the console listens on this machine only
LOGINS: tuple[tuple[str, str, str], ...] = (
    ("admin", Role.ADMINISTRATOR, "administrator: everything"),
    ("dave", Role.VIEWER, "partition administrator"),
    ("pam", Role.VIEWER, "project manager"),
    ("ada", Role.AUDITOR, "auditor: reads everything"),
    ("vic", Role.VIEWER, "viewer"),
)


def is_the_place() -> bool:
    """Whether nothing real can come to harm: the cluster is simulated, or a private Slurm of ours that runs just now.

    A private Slurm is known by its keeper, which holds the mark in the folder of its slurm.conf locked. Under the
    settings of a real installation nothing is a demonstration.
    """
    if is_production():
        return False
    if is_simulated():
        return True
    from deploy.private_slurm import is_kept

    conf = os.environ.get("SLURM_CONF", "")
    return bool(conf) and is_kept(Path(conf))


def left_over() -> list[str]:
    """Accounts that can be signed in to with the demonstration's password."""
    names = [name for name, _, _ in LOGINS]
    rows = User.objects.filter(username__in=names, is_active=True).order_by("username")
    return [row.username for row in rows if row.check_password(PASSWORD)]
