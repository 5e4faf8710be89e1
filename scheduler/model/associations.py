"""What Slurm's accounting knows of accounts and their users, for the first import: nothing is planned on it."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class SlurmAccount:
    """An account with its users, sorted. `parent`: the account above it, empty for none."""

    name: str
    users: tuple[str, ...] = ()
    parent: str = ""


@dataclass(frozen=True, slots=True)
class Associations:
    """The accounts of one cluster, by name. `kept`: whether this cluster keeps accounting at all.

    `fault`: why the accounting could not be asked, or that lines of its answer were left out, in one sentence.
    """

    kept: bool
    accounts: tuple[SlurmAccount, ...] = ()
    fault: str = ""
