"""Who is told what a partition's administrators are to know, and in which language people are told."""

from collections.abc import Callable
from typing import ParamSpec, TypeVar

from django.conf import settings
from django.db.models import Value
from django.db.models.functions import Coalesce, NullIf
from django.utils import translation

from console.accounts.models import Role, User
from console.cluster.models import Cluster
from console.partitions.models import PartitionAdmin


class Administrators:
    """The people who look after the partitions of a cluster; two queries."""

    def __init__(self, cluster: Cluster) -> None:
        named = PartitionAdmin.objects.filter(partition__cluster=cluster)
        self._named: dict[str, set[str]] = {}
        for partition, username in named.values_list("partition__name", "username"):
            self._named.setdefault(partition, set()).add(username)
        accounts = {account.username: account for account in User.objects.filter(is_active=True)}
        self._users = {name: account.slurm_user for name, account in accounts.items()}
        self._everywhere = {name for name, account in accounts.items() if account.role == Role.ADMINISTRATOR}

    def of(self, partition: str) -> list[tuple[str, str]]:
        """A partition's administrators, the console's where it has none: each name with the user of the cluster."""
        names = self._named.get(partition) or self._everywhere
        return [(name, self._users.get(name, name)) for name in sorted(names)]


P = ParamSpec("P")
Said = TypeVar("Said")


class Spoken:
    """What the accounts have chosen, by user of the cluster; one query for a whole round."""

    def __init__(self) -> None:
        chosen = User.objects.exclude(language="").filter(is_active=True).order_by("-id")
        name = Coalesce(NullIf("cluster_user", Value("")), "username")
        self._codes: dict[str, str] = dict(chosen.annotate(there=name).values_list("there", "language"))

    def to(self, user: str, say: Callable[P, Said], *args: P.args, **kwargs: P.kwargs) -> Said:
        """What `say` says, in this user's language."""
        with translation.override(self._codes.get(user, settings.LANGUAGE_CODE)):
            return say(*args, **kwargs)
