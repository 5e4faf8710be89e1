"""Embedded defaults for one person trying Giveway: SQLite, in-process broker, simulated cluster, this machine only."""

from console.core.files import take_for_ourselves
from console.settings.base import *  # noqa: F403
from console.settings.base import DATABASES, HOME
from console.settings.env import env, kept_secret, log_level, refuse_faults, writable
from console.settings.logs import configure_logging

refuse_faults()
take_for_ourselves(HOME, DATABASES["default"])
# `make run` shares one terminal: only what is wrong, unless somebody asks for more.
configure_logging(json=env.bool("LOG_JSON", default=False), level=log_level("WARNING"))

DEBUG = env.bool("DEBUG", default=False)
ALLOWED_HOSTS = ["127.0.0.1", "localhost", "[::1]"]
WHITENOISE_USE_FINDERS = True
STATIC_ROOT = writable(HOME) / "static"  # stays empty: files are served from where they lie
STATIC_ROOT.mkdir(exist_ok=True)
SECRET_KEY = env.str("SECRET_KEY", default="") or kept_secret(HOME / "secret-key")
