"""Embedded defaults for one person trying Giveway: SQLite, in-process broker, simulated cluster, this machine only."""

import secrets

from console.core.files import take_for_ourselves
from console.settings.base import *  # noqa: F403
from console.settings.base import DATABASES, HOME
from console.settings.env import env, refuse_faults
from console.settings.logs import configure_logging

refuse_faults()
take_for_ourselves(HOME, DATABASES["default"])
# `make run` shares one terminal: only what is wrong, unless somebody asks for more.
configure_logging(json=env.bool("LOG_JSON", default=False), level=env.str("LOG_LEVEL", default="WARNING"))

DEBUG = env.bool("DEBUG", default=False)
ALLOWED_HOSTS = ["127.0.0.1", "localhost", "[::1]"]
WHITENOISE_USE_FINDERS = True
STATIC_ROOT = HOME / "static"  # stays empty: files are served from where they lie
STATIC_ROOT.mkdir(exist_ok=True)


def _secret_key() -> str:
    """A key of this installation's own, made at the first start and kept with its other files."""
    path = HOME / "secret-key"
    if not path.exists():
        path.touch(mode=0o600)
        path.write_text(secrets.token_urlsafe(50))
    return path.read_text()


SECRET_KEY = env.str("SECRET_KEY", default="") or _secret_key()
