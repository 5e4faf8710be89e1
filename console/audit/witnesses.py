"""What would not be there without rows in the log: an empty log beside it was emptied, or is another one."""

from collections.abc import Callable

from console.accounts.models import User

Asked = Callable[[], bool]

_witnesses: dict[str, Asked] = {}


def add_witness(what: str, there: Asked) -> None:
    """`what`, in the plural, is only made with a row in the log; `there`: whether there is any. Called by an app's
    `rules.py`."""
    _witnesses[what] = there


def witnesses() -> list[str]:
    """What there is."""
    return [what for what, there in _witnesses.items() if there()]


add_witness("accounts", User.objects.exists)
