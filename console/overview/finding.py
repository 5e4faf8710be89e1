"""What else fits a search for jobs: nodes, users, partitions, projects, plans, pages and actions, each as a link."""

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Any

from django.urls import reverse
from django.utils.translation import pgettext

from console.cluster.models import Cluster, Job, Node
from console.overview.places import places
from console.partitions.models import Partition
from console.projects.selectors import visible_projects
from console.steering.models import Plan

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
