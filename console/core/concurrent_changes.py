"""Somebody else has changed a thing since it was read: the error that services raise, and what was missed.

Wrong values are Django's `ValidationError`, by field."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from django.utils.translation import gettext as _
from django.utils.translation import pgettext

from console.core.diff import KeyChange, KeyDifference
from console.core.l10n_format import names, set_in_type
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


class OvertakenError(Exception):
    """Somebody else was quicker: nothing was done."""

    @property
    def for_people(self) -> str:
        """What a page says."""
        return str(self)


class ChangedSinceError(OvertakenError):
    """Somebody else changed the thing after it was read: nothing was done, look again.

    `what` names it in words (`project alpha`); `seen` is the version that the caller had read, `current`
    the one that is there now, None when the thing is gone. `missed`: what has become of it, if that is known. As text
    it names keys as documents have them; `for_people` says the same as pages do.
    """

    def __init__(
        self, what: str, *, seen: int, current: int | None, missed: MissedChanges | None = None
    ) -> None:
        self.what = what
        self.seen = seen
        self.current = current
        self.missed = missed
        super().__init__(self._text(missed.by_key if missed else ""))

    @property
    def for_people(self) -> str:
        """What a page says."""
        return self._text(self.missed.in_words if self.missed else "")

    def _text(self, changes: str) -> str:
        facts = {"what": self.what, "seen": self.seen, "current": self.current, "changes": changes}
        if self.missed is None and self.current is None:
            text = _("The %(what)s was deleted since you looked at it.")
        elif self.missed is None:
            text = _(
                "The %(what)s was changed since you looked at it (you saw version %(seen)s, now it is %(current)s). "
                "Look at it again before you change it."
            )
        else:
            text = self._known(bool(changes))
            facts["who"] = names(self.missed.who)
        return set_in_type(text % facts)

    def _known(self, has_changes: bool) -> str:
        if self.current is None:
            return _("The %(what)s was deleted by %(who)s since you looked at it.")
        if not has_changes:
            return _(
                "The %(what)s was changed by %(who)s since you looked at it (you saw version %(seen)s, now it is "
                "%(current)s). Look at it again before you change it."
            )
        return _(
            "The %(what)s was changed by %(who)s since you looked at it (you saw version %(seen)s, now it is "
            "%(current)s): %(changes)s. Look at it again before you change it."
        )
