"""Settings of the tests: an own home folder, fast password hashing, everything else as embedded."""

import atexit
import os
import shutil
import tempfile
from pathlib import Path

if "GIVEWAY_HOME" not in os.environ:
    os.environ["GIVEWAY_HOME"] = os.environ["GIVEWAY_TESTS_HOME"] = tempfile.mkdtemp(prefix="giveway-test-")
    atexit.register(shutil.rmtree, os.environ["GIVEWAY_HOME"], ignore_errors=True)
elif "PYTEST_XDIST_WORKER" in os.environ and os.environ["GIVEWAY_HOME"] == os.environ.get(
    "GIVEWAY_TESTS_HOME"
):
    # Each process of a run has a home of its own in the run's: what one writes there, as anchors, is not another's.
    os.environ["GIVEWAY_HOME"] += f"/{os.environ['PYTEST_XDIST_WORKER']}"
    Path(os.environ["GIVEWAY_HOME"]).mkdir(mode=0o700, exist_ok=True)

from console.core import failpoints
from console.settings.base import *  # noqa: F403

DEBUG = False
SECRET_KEY = "only-for-tests"  # noqa: S105
ALLOWED_HOSTS = ["127.0.0.1", "localhost", "testserver"]
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
WHITENOISE_USE_FINDERS = True
WHITENOISE_AUTOREFRESH = True
AXES_ENABLED = False
# Tests begin with the same numbers again and again; what one has made must not be seen by the next.
CACHES = {
    "default": {"BACKEND": "django.core.cache.backends.locmem.LocMemCache"},
    "allowances": {"BACKEND": "django.core.cache.backends.locmem.LocMemCache", "LOCATION": "allowances"},
    "template_fragments": {"BACKEND": "django.core.cache.backends.dummy.DummyCache"},
}
TIME_ZONE = "UTC"  # wherever the machine is that they run on
GIVEWAY_CHANGES_S = 1e9  # one process plays the same few people all the time

if DATABASES["default"]["ENGINE"] == "django.db.backends.sqlite3":  # noqa: F405
    # A file and not memory: there, the server that a browser asks would share the test's own connection, and its
    # transactions would be the test's. Nothing has to survive, so nothing waits for the disk.
    DATABASES["default"]["TEST"] = {"NAME": str(HOME / "test.sqlite3")}  # noqa: F405

if failpoints.FAULT in os.environ or failpoints.LOG in os.environ:
    # A process of the fault harness (tests/faults): it dies at a named point.
    failpoints.arm(os.environ.get(failpoints.FAULT, ""), os.environ.get(failpoints.LOG, ""))
