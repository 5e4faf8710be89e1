"""Errors that services of several apps raise. Wrong values are Django's `ValidationError`, by field."""

from django.utils.translation import gettext as _


class ChangedSinceError(Exception):
    """Somebody else changed the thing after it was read: nothing was done, look again.

    `what` names it in words (`project alpha`); `seen` is the version that the caller had read, `current`
    the one that is there now, None when the thing is gone.
    """

    def __init__(self, what: str, *, seen: int, current: int | None) -> None:
        self.what = what
        self.seen = seen
        self.current = current
        if current is None:
            text = _("The %(what)s was deleted since you looked at it.")
        else:
            text = _(
                "The %(what)s was changed since you looked at it (you saw version %(seen)s, now it is %(current)s). "
                "Look at it again before you change it."
            )
        super().__init__(text % {"what": what, "seen": seen, "current": current})
