"""The names of the doctor's checks; those that are Slurm's own words (`slurmctld`) stand as they are."""

from typing import Any

from django.utils.translation import pgettext_lazy

CHECKS: dict[str, Any] = {
    "accounts": pgettext_lazy("what the doctor looks at", "accounts"),
    "audit": pgettext_lazy("what the doctor looks at", "audit"),
    "broker": pgettext_lazy("what the doctor looks at", "broker"),
    "clocks": pgettext_lazy("what the doctor looks at", "clocks"),
    "elastic jobs": pgettext_lazy("what the doctor looks at", "elastic jobs"),
    "commands": pgettext_lazy("what the doctor looks at", "commands"),
    "database": pgettext_lazy("what the doctor looks at", "database"),
    "directory": pgettext_lazy("what the doctor looks at", "directory"),
    "files": pgettext_lazy("what the doctor looks at", "files"),
    "forecasts": pgettext_lazy("what the doctor looks at", "forecasts"),
    "immune jobs": pgettext_lazy("what the doctor looks at", "immune jobs"),
    "job requests": pgettext_lazy("what the doctor looks at", "job requests"),
    "incidents": pgettext_lazy("what the doctor looks at", "incidents"),
    "kept nodes": pgettext_lazy("what the doctor looks at", "kept nodes"),
    "messages": pgettext_lazy("what the doctor looks at", "messages"),
    "partitions": pgettext_lazy("what the doctor looks at", "partitions"),
    "power": pgettext_lazy("what the doctor looks at", "compute power"),
    "requests": pgettext_lazy("what the doctor looks at", "requests to slurmctld"),
    "rights": pgettext_lazy("what the doctor looks at", "rights"),
    "settings": pgettext_lazy("what the doctor looks at", "settings"),
    "worker": pgettext_lazy("what the doctor looks at", "worker"),
}
