"""Accounts as the pages and the API show them, with what names them elsewhere. Four queries for any number."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from django.db.models import Q, QuerySet

from console.accounts.models import ApiToken, Identity, Role, User
from console.cluster.models import Cluster
from console.core import clock
from console.partitions.models import PartitionAdmin
from console.projects.models import MemberRole, Membership


@dataclass(frozen=True, slots=True)
class Person:
    """An account with all that is said of it. `tokens`: those that have not ended, the newest first.

    `signs_in`: `password`, `elsewhere` (a provider or a directory) or `nowhere`: with none of both nobody gets in.
    """

    user: User
    administers: tuple[str, ...]
    manages: tuple[str, ...]
    tokens: tuple[ApiToken, ...]
    signs_in: str


def accounts(text: str = "", role: str = "", state: str = "") -> QuerySet[User]:
    """Accounts by name: of those that a text fits, of a role, `on` or `off`. What makes no sense is left out."""
    rows = User.objects.order_by("username")
    if text:
        rows = rows.filter(
            Q(username__icontains=text) | Q(email__icontains=text) | Q(cluster_user__icontains=text)
        )
    if role in Role.values:
        rows = rows.filter(role=role)
    if state in ("on", "off"):
        rows = rows.filter(is_active=state == "on")
    return rows


def as_people(cluster: Cluster, users: Iterable[User]) -> list[Person]:
    """Accounts with what is theirs on this cluster, in the same order."""
    users = list(users)
    names = [user.username for user in users]
    administers, manages = _administers(cluster, names), _manages(cluster, names)
    tokens: dict[int, list[ApiToken]] = defaultdict(list)
    now = clock.now()
    for token in ApiToken.objects.filter(user__in=users):
        if not token.has_ended(now):
            tokens[token.user_id].append(token)
    elsewhere = set(Identity.objects.filter(user__in=users).values_list("user_id", flat=True))
    return [
        Person(
            user=user,
            administers=tuple(administers[user.username]),
            manages=tuple(manages[user.username]),
            tokens=tuple(tokens[user.pk]),
            signs_in=_signs_in(user, user.pk in elsewhere),
        )
        for user in users
    ]


def places_of(cluster: Cluster, username: str) -> tuple[list[str], list[str]]:
    """The partitions that somebody administers, and the projects that he manages."""
    return _administers(cluster, [username])[username], _manages(cluster, [username])[username]


def _administers(cluster: Cluster, names: list[str]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = defaultdict(list)
    rows = PartitionAdmin.objects.filter(username__in=names, partition__cluster=cluster)
    for name, partition in rows.values_list("username", "partition__name").order_by("partition__name"):
        found[name].append(partition)
    return found


def _manages(cluster: Cluster, names: list[str]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = defaultdict(list)
    rows = Membership.objects.filter(username__in=names, role=MemberRole.MANAGER, project__cluster=cluster)
    for name, code in rows.values_list("username", "project__code").order_by("project__code"):
        found[name].append(code)
    return found


def _signs_in(user: User, elsewhere: bool) -> str:
    if user.has_usable_password():
        return "password"
    return "elsewhere" if elsewhere else "nowhere"
