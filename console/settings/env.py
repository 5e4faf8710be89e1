"""The environment, typed: a variable that makes no sense stops the start with one clear sentence."""

from pathlib import Path

import environ
from django.core.exceptions import ImproperlyConfigured

from console.core import points

BASE_DIR = Path(__file__).resolve().parent.parent.parent
env = environ.Env()


def home() -> Path:
    """Where Giveway keeps what is its own (embedded database, simulator's state, audit anchors): `GIVEWAY_HOME`."""
    path = Path(env.str("GIVEWAY_HOME", default=str(BASE_DIR / "var"))).expanduser()
    path.mkdir(parents=True, exist_ok=True)
    return path


def choice(name: str, allowed: tuple[str, ...], default: str) -> str:
    """A variable that must be one of a few words."""
    value: str = env.str(name, default=default)
    if value not in allowed:
        raise ImproperlyConfigured(f"{name} is '{value}'; it must be one of: {', '.join(allowed)}.")
    return value


def number(name: str, default: float, minimum: float) -> float:
    """A variable that must be a number not below `minimum`."""
    raw: str = env.str(name, default=str(default))
    try:
        value = float(raw)
    except ValueError:
        raise ImproperlyConfigured(
            f"{name} is '{raw}'; it must be a number, for example {default}."
        ) from None
    if not value >= minimum:
        raise ImproperlyConfigured(f"{name} is {raw}; it must be at least {minimum}.")
    return value


def syslog_address(name: str) -> str:
    """A variable that is empty, the path of a socket, or host and port."""
    value: str = env.str(name, default="")
    host, _colon, port = value.removeprefix("tcp://").rpartition(":")
    if value and not value.startswith("/") and not (host and port.isdecimal() and 0 < int(port) < 65536):
        raise ImproperlyConfigured(f"{name} is '{value}'; write /dev/log, loghost:514 or tcp://loghost:601.")
    return value


def refuse_faults() -> None:
    """A process that would kill itself is only ever wanted by the tests, under their own settings."""
    if points.FAULT in env.ENVIRON:
        raise ImproperlyConfigured(f"{points.FAULT} is set; it is for tests only. Unset it.")
