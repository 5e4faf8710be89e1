"""Structured logs on stderr: words for a person at a terminal, JSON for a log collector (`LOG_JSON=1`).

Every line of a web request has its `request_id` and `user`, every line of a cycle its `cluster` and `cycle`, every line
about a plan its `plan`. No line has a secret in it (`redaction`).
"""

import logging.config
from typing import Any

import structlog

from console.core.redaction import hide_by_name, hide_in_line
from console.core.request_log import add_request

QUIET = (
    "django.utils.autoreload",
    "celery.app.trace",
    "celery.worker.strategy",
    "celery.beat",
    "kombu",
    "axes",
)
OTHERS = ("gunicorn.error", "gunicorn.access")
"""They bring handlers of their own; here they use ours like everybody."""


def configure_logging(*, json: bool, level: str) -> None:
    """Send structlog and the standard library's loggers through one renderer."""
    shared: list[Any] = [
        structlog.contextvars.merge_contextvars,
        add_request,
        structlog.stdlib.add_log_level,
        structlog.stdlib.add_logger_name,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
    ]
    logging.config.dictConfig(
        {
            "version": 1,
            "disable_existing_loggers": False,
            "formatters": {
                "main": {
                    "()": structlog.stdlib.ProcessorFormatter,
                    "foreign_pre_chain": shared,
                    "processors": [
                        structlog.stdlib.ProcessorFormatter.remove_processors_meta,
                        hide_by_name,
                        *_renderers(json=json),
                        hide_in_line,
                    ],
                }
            },
            "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "main"}},
            "root": {"handlers": ["stderr"], "level": level},
            "loggers": {name: {"level": "WARNING"} for name in QUIET}
            | {name: {"handlers": [], "propagate": True} for name in OTHERS},
        }
    )
    # A line that cannot be formatted is printed as it is, secrets and all: only where somebody is looking.
    logging.raiseExceptions = not json
    structlog.configure(
        processors=[*shared, structlog.stdlib.ProcessorFormatter.wrap_for_formatter],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.stdlib.BoundLogger,
        cache_logger_on_first_use=True,
    )


def _renderers(*, json: bool) -> list[Any]:
    if json:
        return [structlog.processors.format_exc_info, structlog.processors.JSONRenderer(ensure_ascii=False)]
    # Plain tracebacks: the default's show the values of variables, when the package for that is there.
    plain = structlog.dev.plain_traceback
    return [structlog.dev.ConsoleRenderer(colors=False, exception_formatter=plain, repr_native_str=True)]
