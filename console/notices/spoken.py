"""In whose language a notice is sent: the one that the recipient has chosen on the console; else English."""

from collections.abc import Callable
from typing import ParamSpec, TypeVar

from django.conf import settings
from django.db.models import Value
from django.db.models.functions import Coalesce, NullIf
from django.utils import translation

from console.accounts.models import User

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
