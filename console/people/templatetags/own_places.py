"""What names a person at partitions and projects, on the page of the own account."""

from typing import NamedTuple

from django import template

from console.accounts.models import User
from console.cluster.selectors import shown_cluster
from console.people.selectors import places_of

register = template.Library()


class OwnPlaces(NamedTuple):
    """Names of partitions, codes of projects."""

    administers: list[str]
    manages: list[str]


@register.simple_tag
def own_places(user: User) -> OwnPlaces:
    """The partitions that somebody administers, and the projects that he manages."""
    return OwnPlaces(*places_of(shown_cluster(), user.username))
