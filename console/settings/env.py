"""The environment, typed: a variable that makes no sense stops the start with one clear sentence."""

from pathlib import Path

import environ
from django.core.exceptions import ImproperlyConfigured

from console.core import failpoints

BASE_DIR = Path(__file__).resolve().parent.parent.parent
env = environ.Env()
INSECURE = "django-insecure-"
LONG_SECRET, MIXED_SECRET = 50, 5
NEW_SECRET = 'Make one: python3 -c "import secrets; print(secrets.token_urlsafe(50))"'  # noqa: S105 - how to make one


def home() -> Path:
    """Where Giveway keeps what is its own (embedded database, simulator's state, audit anchors): `GIVEWAY_HOME`."""
    path = Path(env.str("GIVEWAY_HOME", default=str(BASE_DIR / "var"))).expanduser()
    path.mkdir(mode=0o700, parents=True, exist_ok=True)
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


def given(name: str, why: str) -> None:
    """A variable without which there is no start; `why` says what it is for, and what to write there."""
    if not env.str(name, default=""):
        raise ImproperlyConfigured(f"{name} is not set. {why}")


def secret_key(name: str) -> str:
    """A secret that nobody guesses; as long and as mixed as Django's own check for deployment wants it."""
    given(name, f"It signs what Giveway gives away. {NEW_SECRET}")
    value: str = env.str(name)
    if value.startswith(INSECURE):
        raise ImproperlyConfigured(f"{name} begins with {INSECURE}: everybody may know it. {NEW_SECRET}")
    if len(value) < LONG_SECRET or len(set(value)) < MIXED_SECRET:
        raise ImproperlyConfigured(
            f"{name} has {len(value)} characters, {len(set(value))} of them different; "
            f"it takes {LONG_SECRET} and {MIXED_SECRET}. {NEW_SECRET}"
        )
    return value


def hosts(name: str) -> list[str]:
    """The names under which the console is reached. With any name allowed, a request chooses what links begin with."""
    given(name, "Name the console's own address there, for example giveway.example.org.")
    names: list[str] = [host for host in env.list(name) if host]
    if not names or "*" in names:
        raise ImproperlyConfigured(
            f"{name} is '{env.str(name)}'; name the console's own addresses there, for example giveway.example.org."
        )
    return names


def syslog_address(name: str) -> str:
    """A variable that is empty, the path of a socket, or host and port."""
    value: str = env.str(name, default="")
    host, _colon, port = value.removeprefix("tcp://").rpartition(":")
    if value and not value.startswith("/") and not (host and port.isdecimal() and 0 < int(port) < 65536):
        raise ImproperlyConfigured(f"{name} is '{value}'; write /dev/log, loghost:514 or tcp://loghost:601.")
    return value


def refuse_faults() -> None:
    """A process that would kill itself is only ever wanted by the tests, under their own settings."""
    if failpoints.FAULT in env.ENVIRON:
        raise ImproperlyConfigured(f"{failpoints.FAULT} is set; it is for tests only. Unset it.")
