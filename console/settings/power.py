"""Measuring compute power (docs/methods/compute-power.md)."""

from typing import Any
from urllib.parse import urlsplit

from django.core.exceptions import ImproperlyConfigured

from console.settings.env import env


def _address() -> str:
    """`GIVEWAY_NODES_URL`: under which the cluster's nodes reach this console; empty: nothing is measured."""
    value: str = env.str("GIVEWAY_NODES_URL", default="").rstrip("/")
    address = urlsplit(value)
    plain = not (set(value) & set("'\"\\ \n"))
    if value and (address.scheme not in {"http", "https"} or not address.hostname or not plain):
        raise ImproperlyConfigured(
            f"GIVEWAY_NODES_URL is '{value}'; it must be an address: https://giveway.example.org."
        )
    return value


GIVEWAY_NODES_URL = _address()
# Paths of a site's own benchmarks; else those that are shipped.
GIVEWAY_BENCHMARK_CPU: str = env.str("GIVEWAY_BENCHMARK_CPU", default="")
GIVEWAY_BENCHMARK_GPU: str = env.str("GIVEWAY_BENCHMARK_GPU", default="")
POWER_SCHEDULE: dict[str, dict[str, Any]] = {
    "measure": {"task": "power.measure", "schedule": 15.0, "options": {"expires": 15.0}},
    "count-losses": {"task": "power.count_losses", "schedule": 60.0, "options": {"expires": 60.0}},
    "watch-power": {"task": "power.watch", "schedule": 5.0, "options": {"expires": 5.0}},
}
