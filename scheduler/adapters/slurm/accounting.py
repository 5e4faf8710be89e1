"""Accounts and users as slurmdbd has them: `sacctmgr show associations`, for the first import. Nothing is changed.

Its lines are `account|parent|user`: a line without a user tells of the account itself and what is above it, one with a
user that this user may charge it (seen on 22.05.8). The account `root` and the user `root` are Slurm's own.
"""

import os
from collections.abc import Mapping

from scheduler.adapters.slurm import config as configs
from scheduler.adapters.slurm.commands import CommandRunner
from scheduler.adapters.slurm.errors import SlurmUnavailableError, not_understood
from scheduler.model.associations import Associations, SlurmAccount

OWN = "root"
FIELDS = 3
LONGEST = 64
STORAGE = "accounting_storage/slurmdbd"


def look(
    env: Mapping[str, str] | None = None, timeout_s: float = 20.0, runner: CommandRunner | None = None
) -> Associations:
    """The accounts of the cluster that slurmctld calls its own; never raises for what Slurm answers."""
    runner = runner or CommandRunner(
        dict(os.environ if env is None else env), timeout_s, max_bytes=64 * 1024 * 1024
    )
    try:
        words = configs.words_of(runner.ask("scontrol", "--all", "show", "config"))
        if words.get("AccountingStorageType", "").strip() != STORAGE:
            return Associations(kept=False)
        return decode(
            runner.ask("sacctmgr", "--noheader", "--parsable2", "--readonly", "show", "associations",
                f"cluster={words.get('ClusterName', '').strip()}", "format=Account%64,ParentName%64,User%64",
            )
        )  # fmt: skip
    except SlurmUnavailableError as error:
        return Associations(kept=True, fault=str(error))
    except Exception as error:  # noqa: BLE001 - an answer that no decoder had foreseen
        return Associations(kept=True, fault=str(not_understood("Slurm's answer", error)))


def decode(out: str) -> Associations:
    """The accounts in sacctmgr's answer. Lines that are none are left out and counted in `fault`."""
    parents: dict[str, str] = {}
    users: dict[str, set[str]] = {}
    strange = 0
    for line in out.split("\n"):
        fields = line.split("|")
        if not line:
            continue
        if len(fields) != FIELDS or not all(map(_is_name, filter(None, fields))) or not fields[0]:
            strange += 1
            continue
        account, parent, user = fields
        users.setdefault(account, set())
        if user:
            users[account].add(user)
        else:
            parents[account] = parent
    found = [
        SlurmAccount(name, tuple(sorted(users[name] - {OWN})), _above(parents.get(name, "")))
        for name in sorted(users)
        if name != OWN
    ]
    fault = f"{strange} lines of sacctmgr's answer could not be read" if strange else ""
    return Associations(kept=True, accounts=tuple(found), fault=fault)


def _above(parent: str) -> str:
    return "" if parent == OWN else parent


def _is_name(text: str) -> bool:
    return len(text) <= LONGEST and text.isprintable()
