"""Structured logs on stderr: words for a person at a terminal, JSON for a log collector (`LOG_JSON=1`)."""

import logging.config
from typing import Any

import structlog

QUIET = (
    "django.utils.autoreload",
    "celery.app.trace",
    "celery.worker.strategy",
    "celery.beat",
    "kombu",
    "axes",
)


def configure_logging(*, json: bool, level: str) -> None:
    """Send structlog and the standard library's loggers through one renderer."""
    shared: list[Any] = [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_log_level,
        structlog.stdlib.add_logger_name,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
    ]
    renderer = structlog.processors.JSONRenderer() if json else structlog.dev.ConsoleRenderer(colors=False)
    logging.config.dictConfig(
        {
            "version": 1,
            "disable_existing_loggers": False,
            "formatters": {
                "main": {
                    "()": structlog.stdlib.ProcessorFormatter,
                    "foreign_pre_chain": shared,
                    "processors": [structlog.stdlib.ProcessorFormatter.remove_processors_meta, renderer],
                }
            },
            "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "main"}},
            "root": {"handlers": ["stderr"], "level": level},
            "loggers": {name: {"level": "WARNING"} for name in QUIET},
        }
    )
    structlog.configure(
        processors=[*shared, structlog.stdlib.ProcessorFormatter.wrap_for_formatter],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.stdlib.BoundLogger,
        cache_logger_on_first_use=True,
    )
