"""What a look at a Slurm installation found, for the person who sets Giveway up: nothing is planned on it."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from scheduler.model.observation import KeptNodes, Resizing


@dataclass(frozen=True, slots=True)
class Checkup:
    """Facts about the Slurm that the commands talk to; what could not be learnt is empty or None.

    `programs` maps each program to its path, empty when it is not on PATH. `client`: the commands' version.
    `words`: slurmctld's whole configuration, names and values as scontrol prints them. `partitions`: of each one its
    fields. `skew_s`: slurmctld's clock minus ours, in whole seconds. `operator`: whether slurmctld lets this account
    change other people's jobs; `refusal`: what it said if not, or why nobody knows.
    `burst`, `per_minute`: how often slurmctld lets this account ask, at once and in a minute; 0: as often as it likes.
    `resizing`: in which ways it gives jobs fewer nodes. `kept`: the nodes that are kept
    under Giveway's name. `fault`: why slurmctld could not be asked at all.
    """

    account: str
    programs: Mapping[str, str]
    client: str = ""
    fault: str = ""
    words: Mapping[str, str] = field(default_factory=dict)
    partitions: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    skew_s: int = 0
    operator: bool | None = None
    refusal: str = ""
    resizing: frozenset[Resizing] = frozenset()
    burst: int = 0
    per_minute: float = 0.0
    kept: tuple[KeptNodes, ...] = ()
