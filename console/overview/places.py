"""Pages and actions by their names, for the search: what this person may open, in the reader's words or in English.

An action leads to the page on which it is done; nothing is done by a search.
"""

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from typing import Any

from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from console.accounts.permissions import Permission
from console.partitions.models import Partition
from console.partitions.own_file import imports_some

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
