"""What all installations share."""

from typing import Any

from csp.constants import NONE, SELF

from console.settings.directory import *  # noqa: F403
from console.settings.directory import DIRECTORY_SCHEDULE
from console.settings.env import (
    BASE_DIR,
    choice,
    database,
    env,
    home,
    log_level,
    number,
    redis_url,
    syslog_address,
    time_zone,
)
from console.settings.history import *  # noqa: F403
from console.settings.history import FORECAST_SCHEDULE, HISTORY_SCHEDULE
from console.settings.languages import *  # noqa: F403
from console.settings.limits import *  # noqa: F403
from console.settings.logs import configure_logging
from console.settings.notices import *  # noqa: F403
from console.settings.notices import NOTICES_SCHEDULE
from console.settings.power import *  # noqa: F403
from console.settings.power import POWER_SCHEDULE
from console.settings.queues import *  # noqa: F403
from console.settings.queues import LONGEST_S
from console.settings.sign_in import *  # noqa: F403

HOME = home()
PROJECT_DIR = BASE_DIR

INSTALLED_APPS = [
    "console.core",
    "console.accounts",
    "console.audit",
    "console.cluster",
    "console.forecasts",
    "console.projects",
    "console.partitions",
    "console.power",
    "console.steering",
    "console.starts",
    "console.reports",
    "console.history",
    "console.insights",
    "console.notices",
    "console.health",
    "console.setup",
    "console.needs",
    "console.people",
    "console.overview",
    "console.api",
    "console.launch",
    "django.forms",  # widgets of the form renderer; our own templates come first
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "whitenoise.runserver_nostatic",
    "django.contrib.staticfiles",
    "django_htmx",
    "template_partials",
    "rest_framework",
    "django_filters",
    "drf_spectacular",
    "drf_spectacular_sidecar",
    "rules.apps.AutodiscoverRulesConfig",
    "axes",
    "csp",
]

MIDDLEWARE = [
    "console.accounts.addresses.ProxyMiddleware",
    "django.middleware.security.SecurityMiddleware",
    "csp.middleware.CSPMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "console.core.middleware.CompressPagesMiddleware",
    "console.core.middleware.RequestIdMiddleware",
    "console.accounts.too_many_requests.AllowancesMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.locale.LocaleMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "console.accounts.sessions.SessionLimitsMiddleware",
    "console.accounts.languages.AccountLanguageMiddleware",
    "console.accounts.login_required.SignInFirstMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
    "console.core.middleware.VaryOnHtmxMiddleware",
    "console.core.middleware.KeepNothingMiddleware",
    "console.core.middleware.NotAllowedPageMiddleware",
    "console.core.middleware.VisibleTextMiddleware",
    "console.accounts.too_many_requests.BusyMiddleware",
    "axes.middleware.AxesMiddleware",
]

ROOT_URLCONF = "console.urls"
WSGI_APPLICATION = "console.wsgi.application"
ASGI_APPLICATION = "console.asgi.application"

TEMPLATES: list[dict[str, Any]] = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
                "console.core.installation.page_context",
            ],
        },
    }
]
FORM_RENDERER = "console.core.form_renderer.Renderer"

# --- Caches, each in the memory of one process -----------------------------------------------------------------------
# `template_fragments`: what the tag `cache` of templates has made, parts of pages; the largest has half a megabyte.
CACHES: dict[str, dict[str, Any]] = {
    "default": {"BACKEND": "django.core.cache.backends.locmem.LocMemCache"},
    "allowances": {
        "BACKEND": "django.core.cache.backends.locmem.LocMemCache",
        "LOCATION": "allowances",
        "OPTIONS": {"MAX_ENTRIES": 10_000},
    },
    "template_fragments": {
        "BACKEND": "django.core.cache.backends.locmem.LocMemCache",
        "LOCATION": "fragments",
        "OPTIONS": {"MAX_ENTRIES": 200},
    },
}

# --- Database: one SQLite file by default, PostgreSQL by DATABASE_URL ---------------------------------------------
DATABASES: dict[str, dict[str, Any]] = {"default": database(HOME)}
if DATABASES["default"]["ENGINE"] == "django.db.backends.sqlite3":
    # A new connection reads the whole schema first, which takes longer than most questions: threads keep theirs.
    DATABASES["default"]["CONN_MAX_AGE"] = 600
    # IMMEDIATE: a transaction that is going to write says so at once, so that two writers queue instead of failing.
    DATABASES["default"]["OPTIONS"] = {
        "timeout": 20,
        "transaction_mode": "IMMEDIATE",
        "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL; PRAGMA foreign_keys=ON;",
    }
else:
    options = DATABASES["default"].setdefault("OPTIONS", {})
    # Every thread keeps its connection, and one that the server has lost meanwhile is replaced before it is used. Not
    # a pool: while the database is away, that lets every request wait for its turn instead of failing at once.
    DATABASES["default"]["CONN_MAX_AGE"] = 600
    DATABASES["default"]["CONN_HEALTH_CHECKS"] = True
    options["connect_timeout"] = 5
    # A process that stands still inside a transaction, or whose machine is gone, keeps nobody waiting for its locks.
    options["options"] = " ".join(
        [
            options.get("options", ""),
            "-c idle_in_transaction_session_timeout=30s -c tcp_keepalives_idle=10 -c tcp_keepalives_interval=5",
        ]
    ).strip()
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

# --- People -------------------------------------------------------------------------------------------------------
AUTH_USER_MODEL = "accounts.User"
AUTHENTICATION_BACKENDS = [
    "axes.backends.AxesStandaloneBackend",
    "rules.permissions.ObjectPermissionBackend",
    "console.accounts.backends.PasswordBackend",
    "console.accounts.backends.DirectoryBackend",
]
PASSWORD_HASHERS = [
    "console.accounts.bounded_hashers.Argon2",
    "console.accounts.bounded_hashers.PBKDF2",
]
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": f"django.contrib.auth.password_validation.{name}"}
    for name in ("UserAttributeSimilarityValidator", "MinimumLengthValidator", "CommonPasswordValidator")
]
LOGIN_URL = "login"
LOGIN_REDIRECT_URL = "overview"
LOGOUT_REDIRECT_URL = "login"

# --- Time (languages: console/settings/languages.py) --------------------------------------------------------------
TIME_ZONE = time_zone()
USE_TZ = True

# --- Static files and content security ----------------------------------------------------------------------------
STATIC_URL = "static/"
STATIC_ROOT = BASE_DIR / "staticfiles"
STATICFILES_DIRS = [BASE_DIR / "static"]
CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": [SELF],
        "script-src": [SELF],
        "style-src": [SELF],
        "img-src": [SELF, "data:"],
        "object-src": [NONE],
        "base-uri": [SELF],
        "form-action": [SELF],
        "frame-ancestors": [NONE],
    }
}
X_FRAME_OPTIONS = "DENY"

# --- API ----------------------------------------------------------------------------------------------------------
REST_FRAMEWORK = {
    # The token first: who is not signed in is told 401 with WWW-Authenticate: Token. CSRF is checked for sessions.
    "DEFAULT_AUTHENTICATION_CLASSES": [
        "console.api.authentication.ScopedTokenAuthentication",
        "rest_framework.authentication.SessionAuthentication",
    ],
    "DEFAULT_PERMISSION_CLASSES": ["rest_framework.permissions.IsAuthenticated"],
    "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
    "DEFAULT_PARSER_CLASSES": ["console.api.parsers.BoundedJSONParser"],
    "DEFAULT_FILTER_BACKENDS": ["django_filters.rest_framework.DjangoFilterBackend"],
    "DEFAULT_PAGINATION_CLASS": "console.api.pagination.Pages",
    "DEFAULT_SCHEMA_CLASS": "console.api.openapi.ApiSchema",
    "DEFAULT_METADATA_CLASS": None,
    "DEFAULT_THROTTLE_RATES": {"token": "20/min", "checkpoint": "60/min", "measurement": "600/min"},
    # Whose X-Forwarded-For is believed: GIVEWAY_TRUSTED_PROXIES, in console/api/authentication.py.
    "NUM_PROXIES": 0,
    "EXCEPTION_HANDLER": "console.api.handler.exception_handler",
    "TEST_REQUEST_DEFAULT_FORMAT": "json",
}
SPECTACULAR_SETTINGS = {
    "TITLE": "Giveway API",
    "DESCRIPTION": "Partitions, projects, jobs with their levels and reasons, plans and the audit log.",
    "VERSION": "1",
    "OAS_VERSION": "3.1.0",
    "SERVE_INCLUDE_SCHEMA": False,
    "COMPONENT_SPLIT_PATCH": False,
    "COMPONENT_SPLIT_REQUEST": True,
    "ENUM_GENERATE_CHOICE_DESCRIPTION": False,
    "ENUM_NAME_OVERRIDES": {
        "StudyStateEnum": "console.history.models.StudyState",
        "StudyKindEnum": "console.history.models.StudyKind",
        "RequestStateEnum": "console.projects.models.RequestState",
        "ElasticHowEnum": [(each, each) for each in ("tasks", "inplace", "restart")],
    },
    "SWAGGER_UI_DIST": "SIDECAR",
    "SWAGGER_UI_FAVICON_HREF": "SIDECAR",
    "SCHEMA_PATH_PREFIX": r"/api/v1",
}

# --- Background work ----------------------------------------------------------------------------------------------
REDIS_URL = redis_url()
CELERY_BROKER_URL = REDIS_URL or "memory://localhost/"
CELERY_TASK_IGNORE_RESULT = True
CELERY_TASK_SERIALIZER = "json"
CELERY_ACCEPT_CONTENT = ["json"]
CELERY_TASK_ACKS_LATE = True
CELERY_TASK_REJECT_ON_WORKER_LOST = True
CELERY_WORKER_PREFETCH_MULTIPLIER = 1
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
# However long Redis is away: a worker that gave up would steer nothing when it is back.
CELERY_BROKER_CONNECTION_MAX_RETRIES = None
# visibility_timeout must exceed the longest task, or it is begun a second time while it runs; the two restore settings
# make a dead worker's task come back within seconds instead of a minute and a half (docs/dependencies.md, redis).
CELERY_BROKER_TRANSPORT = "" if REDIS_URL else "console.launch.broker:Transport"
CELERY_BROKER_TRANSPORT_OPTIONS: dict[str, Any] = (
    {"visibility_timeout": LONGEST_S + 60, "unacked_restore_interval": 2, "unacked_restore_throttle": 1}
    if REDIS_URL
    else {}
)
CELERY_TIMEZONE = "UTC"

# --- Giveway itself -----------------------------------------------------------------------------------------------
GIVEWAY_CLUSTER = choice("GIVEWAY_CLUSTER", ("simulator", "slurm"), "simulator")
GIVEWAY_CLUSTER_NAME: str = env.str("GIVEWAY_CLUSTER_NAME", default="dev")
GIVEWAY_SCENARIO: str = env.str("GIVEWAY_SCENARIO", default="demo")
GIVEWAY_CYCLE_S = number("GIVEWAY_CYCLE_S", 1.0, 0.2)
# So often the timer has a worker look whether a cycle is due. Attached to a Slurm it goes on looking until the next
# time; the simulated cluster has one at each.
GIVEWAY_TICK_S = {"simulator": GIVEWAY_CYCLE_S, "slurm": 5.0}[GIVEWAY_CLUSTER]
# At least so many seconds between two glances at slurmctld's counters (0: none, the timer alone). See
# console/steering/pace.py.
GIVEWAY_WATCH_S = number("GIVEWAY_WATCH_S", 0.25, 0)
# So many requests to slurmctld in a minute, on average over five; where it limits this account (rl_enable), no more
# than that.
GIVEWAY_SLURM_REQUESTS_PER_MINUTE = number("GIVEWAY_SLURM_REQUESTS_PER_MINUTE", 240, 1)
# How long a job takes at least to start again on more nodes, which it must gain (docs/methods/elastic.md).
GIVEWAY_RESTART_S = number("GIVEWAY_RESTART_S", 60, 0)
GIVEWAY_SLURM_TIMEOUT_S = number("GIVEWAY_SLURM_TIMEOUT_S", 30, 1)
# The file that slurmctld's job_submit plugin reads (docs/job-submit.md); empty: none is written.
GIVEWAY_SUBMIT_RULES: str = env.str("GIVEWAY_SUBMIT_RULES", default="")
# A second place for the audit log's anchors (docs/audit.md): /dev/log, loghost:514 or tcp://loghost:601.
GIVEWAY_ANCHOR_SYSLOG: str = syslog_address("GIVEWAY_ANCHOR_SYSLOG")
# Who asks for /metrics must send it as a bearer token; empty: only this machine may ask, past any proxy.
GIVEWAY_METRICS_TOKEN: str = env.str("GIVEWAY_METRICS_TOKEN", default="")

# The schedule is fixed and kept in memory: each tick is idempotent, so nothing is lost with it. A tick that waited
# longer than two cycles is dropped; the next one does its work.
CELERY_BEAT_SCHEDULER = "console.launch.timer:Timer"
CELERY_BEAT_SCHEDULE: dict[str, dict[str, Any]] = {
    "steer": {
        "task": "steering.steer",
        "schedule": GIVEWAY_TICK_S,
        "options": {"expires": max(2.0, 2 * GIVEWAY_TICK_S)},
    },
    "housekeep": {"task": "steering.housekeep", "schedule": 3600.0, "options": {"expires": 3600.0}},
    "anchor": {"task": "console.audit.tasks.anchor", "schedule": 60.0, "options": {"expires": 60.0}},
    "verify": {"task": "console.audit.tasks.verify", "schedule": 60.0, "options": {"expires": 60.0}},
    # The doctor's round, when a page has asked for one; asking whether costs a query.
    "examine": {"task": "setup.examine", "schedule": 5.0, "options": {"expires": 10.0}},
    "end-invitations": {"task": "setup.end_invitations", "schedule": 60.0, "options": {"expires": 60.0}},
    **DIRECTORY_SCHEDULE,
    **NOTICES_SCHEDULE,
    **HISTORY_SCHEDULE,
    **FORECAST_SCHEDULE,
    **POWER_SCHEDULE,
}
LOGGING_CONFIG = None
configure_logging(json=env.bool("LOG_JSON", default=False), level=log_level("INFO"))
