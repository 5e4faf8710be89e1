"""Errors that services of several apps raise. Wrong values are Django's `ValidationError`, by field."""


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
            text = f"The {what} was deleted since you looked at it."
        else:
            text = (
                f"The {what} was changed since you looked at it "
                f"(you saw version {seen}, now it is {current}). Look at it again before you change it."
            )
        super().__init__(text)
