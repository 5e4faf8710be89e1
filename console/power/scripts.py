"""The batch script of a measurement: the site's benchmark, and what tells its result."""

from base64 import b64encode
from pathlib import Path

from django.conf import settings

from console.power.models import Measurement
from console.power.selectors import BY_NODE
from console.power.tokens import make_token

ASKS_EVERY_S = 20
"""So often a measurement asks whether it is to go on; after three times without an answer it ends."""
SHIPPED = Path(__file__).parent / "benchmarks"


class NoBenchmarkError(Exception):
    """The benchmark that the settings name cannot be read; the message says which."""


def script_of(measurement: Measurement) -> str:
    """What the job of a measurement runs. Raises `NoBenchmarkError`."""
    wrapper = (SHIPPED / "measure.sh").read_text(encoding="utf-8")
    said = {
        "URL": settings.GIVEWAY_NODES_URL,
        "TOKEN": make_token(measurement.pk),
        "DEVICES": str(measurement.devices),
        "EVERY": str(ASKS_EVERY_S),
        "BENCHMARK": b64encode(_benchmark(measurement.resource)).decode(),
    }
    for key, value in said.items():
        wrapper = wrapper.replace(f"@{key}@", value)
    return wrapper


def _benchmark(resource: str) -> bytes:
    name = "cpu" if resource in BY_NODE else "gpu"
    path = getattr(settings, f"GIVEWAY_BENCHMARK_{name.upper()}") or SHIPPED / f"{name}.sh"
    try:
        return Path(path).read_bytes()
    except OSError as error:
        raise NoBenchmarkError(f"{path}: {error.strerror}") from error
