"""What a kind of row is: its name, label for lists, sentence, and the facts that it must carry."""

from dataclasses import dataclass
from enum import Enum
from typing import Any

from django.utils.functional import Promise

Text = str | Promise


class ReasonRule(Enum):
    """Whether a row must carry a reason in words."""

    FREE = "free"
    BY_PEOPLE = "by people"
    """When the actor is a person; what the system does by itself follows from its plan."""
    ALWAYS = "always"


@dataclass(frozen=True, slots=True)
class AuditAction:
    """One kind of row. `needs` are fields of the row that must not be empty."""

    name: str
    label: Text
    sentence: Text
    needs: tuple[str, ...] = ()
    reason: ReasonRule = ReasonRule.FREE

    def missing(self, facts: dict[str, Any], *, by_person: bool) -> list[str]:
        """The fields that this action requires and `facts` lacks."""
        needs = list(self.needs)
        if self.reason is ReasonRule.ALWAYS or (self.reason is ReasonRule.BY_PEOPLE and by_person):
            needs.append("reason")
        return [field for field in needs if facts[field] in (None, "", {}, [])]
