"""A private, real Slurm on this machine, for demonstrations and tests: see `PrivateSlurm` and `python -m deploy.private_slurm`."""

from .cluster import DEFAULT_USERS, PrivateSlurm
from .config import Partition
from .errors import PrivateSlurmError

__all__ = ["DEFAULT_USERS", "Partition", "PrivateSlurm", "PrivateSlurmError"]
