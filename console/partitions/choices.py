"""What the form of a policy offers to choose from, in words; choices of single settings are declared with them."""

from typing import Any

from django.utils.translation import gettext_lazy as _

from scheduler.model.policy import SETTINGS, AppliesTo, Otherwise


def choices_of(key: str) -> list[tuple[Any, Any]]:
    """The values of a setting with their words; of a switch as `true` and `false`."""
    return [
        (str(value).lower() if isinstance(value, bool) else value, _(words))
        for value, words in SETTINGS[key].words.items()
    ]


APPLIES_TO = (
    (AppliesTo.ALL, _("every job that asks for several processors")),
    (AppliesTo.ASKED, _("jobs that ask for one (balanced), and those whose type says so")),
)
OTHERWISE = (
    (Otherwise.WAIT, _("the job waits")),
    (Otherwise.NEAREST, _("the job takes the nearest set, and its page says how uneven it is")),
)
