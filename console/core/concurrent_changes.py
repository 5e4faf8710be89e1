"""Errors that services of several apps raise. Wrong values are Django's `ValidationError`, by field."""

from django.utils.translation import gettext as _

from console.core.l10n_format import names, set_in_type
from console.core.missed import MissedChanges


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
