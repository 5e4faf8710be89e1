"""The environment, typed: a variable that makes no sense stops the start with one clear sentence."""

import logging
import math
import os
import secrets
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from zoneinfo import ZoneInfo

import environ
from django.core.exceptions import ImproperlyConfigured

from console.core import failpoints

BASE_DIR = Path(__file__).resolve().parent.parent.parent
env = environ.Env()
INSECURE = "django-insecure-"
LONG_SECRET, MIXED_SECRET = 50, 5
NEW_SECRET = 'Make one: python3 -c "import secrets; print(secrets.token_urlsafe(50))"'  # noqa: S105 - how to make one


ZONES = Path("/usr/share/zoneinfo")
ENGINES = {
    "postgres": "postgresql",
    "postgresql": "postgresql",
    "psql": "postgresql",
    "pgsql": "postgresql",
    "sqlite": "sqlite3",
}
"""Schemes of DATABASE_URL, and the databases that Giveway is tested with."""


def home() -> Path:
    """Where Giveway keeps what is its own (embedded database, simulator's state, audit anchors): `GIVEWAY_HOME`."""
    named: str = env.str("GIVEWAY_HOME", default="") or str(BASE_DIR / "var")
    try:
        path = Path(named).expanduser()
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
    except (OSError, RuntimeError) as error:  # the latter: ~somebody, who is nobody here
        why = getattr(error, "strerror", "") or str(error)
        raise ImproperlyConfigured(
            f"GIVEWAY_HOME is '{named}'; there is no such folder, and it cannot be made: {why}. "
            "Name one that the account of Giveway's processes may write to."
        ) from None
    if not os.access(path, os.R_OK | os.X_OK):
        raise ImproperlyConfigured(
            f"GIVEWAY_HOME is '{named}', which this account may not read. "
            "Run this as the account of Giveway's processes, or name a folder of your own."
        )
    return path


def writable(folder: Path) -> Path:
    """The folder, if something can be written there; else there is no start."""
    if not os.access(folder, os.W_OK):
        raise ImproperlyConfigured(
            f"GIVEWAY_HOME is '{folder}', where this account cannot write (is the file system read-only?). "
            "Run this as the account of Giveway's processes, or name a folder of your own."
        )
    return folder


def kept_secret(path: Path) -> str:
    """A key of this installation's own, made at the first start and kept with its other files.

    It is there whole or not at all: a disk that was full leaves an empty file, and two processes may begin at once.
    """
    try:
        if not (path.exists() and path.read_text().strip()):
            path.unlink(missing_ok=True)
            with tempfile.NamedTemporaryFile("w", dir=path.parent, prefix=f"{path.name}.") as made:
                made.write(secrets.token_urlsafe(LONG_SECRET))
                made.flush()
                with suppress(FileExistsError):  # another process was quicker: its key is ours
                    path.hardlink_to(made.name)
        return path.read_text().strip()
    except OSError as error:
        raise ImproperlyConfigured(f"{path} cannot be read or made: {error.strerror}.") from None


def database(folder: Path) -> dict[str, Any]:
    """`DATABASE_URL`, or a file in the home folder. The address is named in no message: a password is in it."""
    value: str = env.str("DATABASE_URL", default="")
    if not value:
        # Not by an address: `#`, `+` and `%` are letters like others in the name of a folder.
        return {"ENGINE": "django.db.backends.sqlite3", "NAME": str(folder / "giveway.sqlite3")}
    engine = ENGINES.get(value.partition("://")[0])
    try:
        # What stands behind a bare # is no part of an address: it was meant for the password's.
        found = {} if engine is None or urlsplit(value).fragment else env.db_url_config(value)
    except ValueError:
        found = {}
    if not found.get("NAME") or not str(found["ENGINE"]).endswith(f".{engine}"):
        raise ImproperlyConfigured(
            "DATABASE_URL makes no sense; write postgres://giveway:PASSWORD@127.0.0.1/giveway. "
            "In a password, # is written %23, @ is %40, / is %2F, : is %3A and % is %25."
        )
    return dict(found)


def redis_url() -> str:
    """`REDIS_URL`, or nothing. It is named in no message: a password may be in it."""
    value: str = env.str("REDIS_URL", default="")
    try:
        address = urlsplit(value)
        known = address.scheme in {"redis", "rediss"} and bool(address.hostname) and not address.fragment
        known = known and address.port != 0
    except ValueError:
        known = False
    if value and not known:
        raise ImproperlyConfigured(
            "REDIS_URL makes no sense; write redis://127.0.0.1:6379/0, with a password redis://:PASSWORD@127.0.0.1:6379/0."
        )
    return value


def time_zone() -> str:
    """`TZ`, as shells have it: also with a colon before it, or as a file of the system's."""
    named: str = env.str("TZ", default="") or "UTC"
    zone = named.removeprefix(":")
    file = Path(zone).resolve()
    if zone.startswith("/") and file.is_relative_to(ZONES):
        zone = str(file.relative_to(ZONES))
    try:
        ZoneInfo(zone)
    except (ValueError, OSError, LookupError):
        raise ImproperlyConfigured(
            f"TZ is '{named}', which is no time zone here; write for example Europe/Berlin."
        ) from None
    return zone


def log_level(default: str) -> str:
    """`LOG_LEVEL`, in small letters too."""
    named: str = env.str("LOG_LEVEL", default="") or default
    levels = logging.getLevelNamesMapping()
    if named.upper() not in levels:
        raise ImproperlyConfigured(f"LOG_LEVEL is '{named}'; it must be one of: {', '.join(levels)}.")
    return named.upper()


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
        value = math.nan
    if not math.isfinite(value):
        raise ImproperlyConfigured(f"{name} is '{raw}'; it must be a number, for example {default}.")
    if value < minimum:
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
