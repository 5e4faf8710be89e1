"""What else fits a search for jobs: nodes, users, partitions, projects, plans, pages and actions, each as a link."""

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from typing import Any

from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop, pgettext

from console.accounts.permissions import Permission
from console.cluster.models import Cluster, Job, Node
from console.partitions.models import Partition
from console.partitions.priority_file import imports_some
from console.projects.selectors import visible_projects
from console.steering.models import Plan

# --- Pages and actions by their names, for the search: what this person may open, in the reader's words or in English.
# An action leads to the page on which it is done; nothing is done by a search.


May = Callable[[Any], bool]


def _with(permission: Permission) -> May:
    return lambda user: bool(user.has_perm(permission))


def _anybody(_user: Any) -> bool:
    return True


@dataclass(frozen=True, slots=True)
class NamedPage:
    """A page or an action. `name` may hold `%s`: it is there for each partition, and its address takes the name."""

    name: str
    address: str
    may: Callable[..., bool] = _anybody
    is_action: bool = False


@dataclass(frozen=True, slots=True)
class FoundPlace:
    """A place that fits, in the reader's words."""

    name: str
    url: str
    is_action: bool


PLACES = (
    NamedPage(gettext_noop("Overview"), "overview"),
    NamedPage(gettext_noop("My jobs"), "my-jobs"),
    NamedPage(gettext_noop("Jobs"), "jobs"),
    NamedPage(gettext_noop("Plans"), "plans"),
    NamedPage(gettext_noop("Approvals"), "approvals", _with(Permission.PLAN_DECIDE)),
    NamedPage(gettext_noop("Incidents"), "incidents"),
    NamedPage(gettext_noop("Forecasts"), "forecasts"),
    NamedPage(gettext_noop("Insights"), "insights"),
    NamedPage(gettext_noop("When would a job start?"), "when"),
    NamedPage(gettext_noop("Studies"), "studies"),
    NamedPage(gettext_noop("Projects"), "projects", _with(Permission.PROJECT_VIEW)),
    NamedPage(gettext_noop("Requests"), "project-requests", _with(Permission.REQUEST_DECIDE)),
    NamedPage(gettext_noop("Audit log"), "audit", _with(Permission.AUDIT_VIEW)),
    NamedPage(gettext_noop("Priority file"), "priority-file", _with(Permission.POLICY_VIEW)),
    NamedPage(gettext_noop("People"), "people", _with(Permission.PEOPLE_VIEW)),
    NamedPage(gettext_noop("Set-up"), "setup", _with(Permission.INSTALLATION_SET_UP)),
    NamedPage(gettext_noop("Your account"), "account"),
    NamedPage(gettext_noop("Help"), "help"),
    NamedPage(
        gettext_noop("Make a project"), "new-project", _with(Permission.PROJECT_CREATE), is_action=True
    ),
    NamedPage(
        gettext_noop("Propose a project"),
        "propose-project",
        _with(Permission.PROJECT_PROPOSE),
        is_action=True,
    ),
    NamedPage(
        gettext_noop("Change the projects’ rules"),
        "project-rules",
        _with(Permission.PROJECT_RULES),
        is_action=True,
    ),
    NamedPage(gettext_noop("Import a priority file"), "priority-file", imports_some, is_action=True),
    NamedPage(
        gettext_noop("Invite somebody"), "setup-people", _with(Permission.INSTALLATION_SET_UP), is_action=True
    ),
    NamedPage(gettext_noop("Pause everything"), "overview", _with(Permission.PAUSE_ALL), is_action=True),
    NamedPage(gettext_noop("Make an API token"), "account", is_action=True),
    NamedPage(
        gettext_noop("Change your password"),
        "account",
        lambda user: user.has_usable_password(),
        is_action=True,
    ),
)


def _of(permission: Permission) -> Callable[..., bool]:
    return lambda user, partition: bool(user.has_perm(permission, partition))


OF_PARTITIONS = (
    NamedPage(gettext_noop("Timeline of %s"), "partition-timeline", _of(Permission.PARTITION_VIEW)),
    NamedPage(gettext_noop("Compute power of %s"), "partition-power", _of(Permission.POLICY_VIEW)),
    NamedPage(gettext_noop("Revisions of %s"), "partition-revisions", _of(Permission.POLICY_VIEW)),
    NamedPage(
        gettext_noop("Change the policy of %s"),
        "partition-policy",
        _of(Permission.POLICY_CHANGE),
        is_action=True,
    ),
    NamedPage(
        gettext_noop("Change the quotas of %s"),
        "partition-quotas",
        _of(Permission.POLICY_CHANGE),
        is_action=True,
    ),
    NamedPage(gettext_noop("Pause %s"), "partition", _of(Permission.PAUSE_PARTITION), is_action=True),
)


def places(user: Any, text: str, partitions: Collection[Partition]) -> Iterator[FoundPlace]:
    """The places in whose names every word of `text` stands. No query but what the permissions ask."""
    words = text.casefold().split()
    for place in PLACES:
        if _fits(words, place.name, _(place.name)) and place.may(user):
            yield FoundPlace(_(place.name), reverse(place.address), place.is_action)
    for place in OF_PARTITIONS:
        for partition in partitions:
            names = place.name % partition.name, _(place.name) % partition.name
            # The partition itself is found by its name; its further pages only when they are asked for, too.
            if _fits(words, *names) and not _fits(words, partition.name) and place.may(user, partition):
                yield FoundPlace(names[1], reverse(place.address, args=[partition.name]), place.is_action)


def _fits(words: list[str], *names: str) -> bool:
    """Whether all the words stand in one of the names."""
    return any(all(word in name.casefold() for word in words) for name in names)


MOST = 5
"""So many of a kind are named."""
SHORTEST = 2
"""A single letter fits half of everything."""


@dataclass(frozen=True, slots=True)
class FoundPage:
    """A page whose subject fits."""

    kind: str
    name: str
    url: str


def find(user: Any, cluster: Cluster, text: str, listed: Collection[Partition]) -> list[FoundPage]:
    """What fits `text` among what the person sees. Four queries at most; none for a text that is too short."""
    if len(text) < SHORTEST and not text.isdecimal():
        return []
    partitions = [row.name for row in listed]
    return [*_partitions(text, partitions), *_nodes(cluster, text, partitions), *_users(cluster, text, partitions),
            *_projects(user, text), *_plans(cluster, text, partitions), *_places(user, text, listed)]  # fmt: skip


def _places(user: Any, text: str, listed: Collection[Partition]) -> Iterator[FoundPage]:
    kinds = pgettext("found", "page"), pgettext("found", "action")
    found = list(places(user, text, listed))
    for is_action in (False, True):
        for place in [each for each in found if each.is_action is is_action][:MOST]:
            yield FoundPage(kinds[is_action], place.name, place.url)


def _partitions(text: str, partitions: Collection[str]) -> Iterator[FoundPage]:
    fitting = sorted(name for name in partitions if text.casefold() in name.casefold())
    for name in fitting[:MOST]:
        yield FoundPage(pgettext("found", "partition"), name, reverse("partition", args=[name]))


def _nodes(cluster: Cluster, text: str, partitions: Collection[str]) -> Iterator[FoundPage]:
    rows = Node.objects.filter(cluster=cluster, name__icontains=text).order_by("name")
    mine = (
        row.name
        for row in rows.only("name", "partitions")[: 20 * MOST]
        if set(row.partitions) & set(partitions)
    )
    for name, _number in zip(mine, range(MOST), strict=False):
        yield FoundPage(pgettext("found", "node"), name, reverse("node", args=[name]))


def _users(cluster: Cluster, text: str, partitions: Collection[str]) -> Iterator[FoundPage]:
    jobs = Job.objects.filter(cluster=cluster, partition__in=list(partitions), user__icontains=text)
    for name in jobs.order_by("user").values_list("user", flat=True).distinct()[:MOST]:
        yield FoundPage(pgettext("found", "user"), name, reverse("user", args=[name]))


def _projects(user: Any, text: str) -> Iterator[FoundPage]:
    rows = visible_projects(user).filter(code__icontains=text).order_by("code")
    for code in rows.values_list("code", flat=True)[:MOST]:
        yield FoundPage(pgettext("found", "project"), code, reverse("project", args=[code]))


def _plans(cluster: Cluster, text: str, partitions: Collection[str]) -> Iterator[FoundPage]:
    if not text.isdecimal() or len(text) > 18:
        return
    if Plan.objects.filter(cluster=cluster, partition__in=list(partitions), pk=int(text)).exists():
        yield FoundPage(pgettext("found", "plan"), text, reverse("plan", args=[int(text)]))
