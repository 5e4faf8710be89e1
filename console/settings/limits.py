"""How long everything may get that a person can make longer (docs/limits.md)."""

from console.core.limits import LIMITS, variable
from console.settings.env import number

GIVEWAY_LIMITS: dict[str, int] = {
    name: int(number(variable(name), limit.default, 1)) for name, limit in LIMITS.items() if not limit.fixed
}
# What a form may carry: the priority file that travels once more on its page, and the rows of the largest policy.
DATA_UPLOAD_MAX_MEMORY_SIZE = GIVEWAY_LIMITS["file"]
DATA_UPLOAD_MAX_NUMBER_FIELDS = 5_000
# Processor seconds a minute that the changes of one account may take at one address.
GIVEWAY_CHANGES_S = number("GIVEWAY_CHANGES_S", 3, 0.1)
