"""Searches that people keep under a name. They are theirs alone; what is shared is the address."""

from django.core.exceptions import ValidationError
from django.db import transaction

from console.accounts.models import User
from console.audit.models import SavedSearch
from console.core.limits import no_room


def keep_search(owner: User, *, name: str, query: str) -> SavedSearch:
    """Keep a search; the same name again replaces it. `ValidationError` when there are too many."""
    with transaction.atomic():
        User.objects.select_for_update().get(pk=owner.pk)
        own = SavedSearch.objects.filter(owner=owner)
        full = no_room("searches", own.count())
        if full and not own.filter(name=name).exists():
            raise ValidationError({"name": full})
        SavedSearch(owner=owner, name=name, query=query).clean_fields(exclude=["owner"])
        search, _made = own.update_or_create(name=name, defaults={"owner": owner, "query": query})
    return search


def forget_search(owner: User, pk: int) -> bool:
    """Remove one's own search; False when there is none."""
    return SavedSearch.objects.filter(owner=owner, pk=pk).delete()[0] > 0
