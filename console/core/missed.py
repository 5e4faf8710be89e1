"""What others have changed since somebody read a thing, and who: for the answer that refuses to write over it."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from django.utils.translation import gettext as _
from django.utils.translation import pgettext

from console.core.diff import KeyChange, KeyDifference
from console.core.l10n_format import set_in_type
from console.core.templatetags.words import json_words, key_words, spelled_out
from console.core.translate import resay
from scheduler.model.sentence import say

NAMED = 5
"""So many changes are told; of more there is the number."""


@dataclass(frozen=True, slots=True)
class MissedChanges:
    """All that was changed, from what was read to what is there now. `who`: everybody who did, the first one first."""

    who: Sequence[str]
    differences: Sequence[KeyDifference] = ()

    @property
    def by_key(self) -> str:
        """For programs: keys and values as documents have them, the words around them in the reader's language."""
        return self._told(lambda difference: resay(difference.said))

    @property
    def in_words(self) -> str:
        """For people: keys and values as pages show them."""
        return self._told(change_words)

    def _told(self, words: Callable[[KeyDifference], str]) -> str:
        return _together(map(words, self.differences[:NAMED]), len(self.differences) - NAMED)


def change_words(difference: KeyDifference) -> str:
    """`urgency: 3 → 5`, as pages show keys and values."""
    each = spelled_out(difference)
    path, before, after = (
        key_words(each.path),
        json_words(each.before, each.path),
        json_words(each.after, each.path),
    )
    match each.change:
        case KeyChange.ADDED:
            return resay(say("change.added", path=path, value=after))
        case KeyChange.REMOVED:
            return resay(say("change.removed", path=path, value=before))
        case KeyChange.CHANGED:
            return resay(say("change.changed", path=path, before=before, after=after))


def _together(lines: Iterable[str], more: int) -> str:
    told = [*lines, *([_("and %(n)s more") % {"n": more}] if more > 0 else [])]
    return set_in_type(pgettext("between things", "; ").join(told))
