"""A private, real Slurm on this machine, for demonstrations and tests.

In Python: `PrivateSlurm`; by hand: `python -m deploy.private_slurm up`.
"""

from deploy.private_slurm.accounting import Accounting
from deploy.private_slurm.cluster import DEFAULT_USERS, PrivateSlurm
from deploy.private_slurm.config import Partition
from deploy.private_slurm.errors import PrivateSlurmError
from deploy.private_slurm.processes import is_kept

__all__ = ["DEFAULT_USERS", "Accounting", "Partition", "PrivateSlurm", "PrivateSlurmError", "is_kept"]
