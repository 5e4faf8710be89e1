"""A second place for the anchors: the system log, here or on another machine (`GIVEWAY_ANCHOR_SYSLOG`)."""

import logging
import socket
from logging.handlers import SysLogHandler

from django.conf import settings

logger = logging.getLogger(__name__)


class _Loud(SysLogHandler):
    """Raises what the standard one swallows: a second place that takes nothing is none."""

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802 - the name is logging's
        """Within the handling of the error itself."""
        raise  # noqa: PLE0704


def tell_syslog(text: str) -> bool:
    """Send a line; False where no second place is set, or it takes nothing, which stands in the process's log.

    The anchor is in its file by then: who cannot be reached stops nobody.
    """
    where = settings.GIVEWAY_ANCHOR_SYSLOG
    if not where:
        return False
    record = logging.LogRecord("giveway", logging.INFO, "", 0, "giveway: %s", (text,), None)
    try:
        handler = _Loud(_address(where), SysLogHandler.LOG_AUTHPRIV, _kind(where))
        try:
            handler.emit(record)
        finally:
            handler.close()
    except OSError:
        logger.exception("the audit anchor was not taken by %s", where)
        return False
    return True


def _kind(where: str) -> socket.SocketKind | None:
    if where.startswith("/"):
        return None
    return socket.SOCK_STREAM if where.startswith("tcp://") else socket.SOCK_DGRAM


def _address(where: str) -> str | tuple[str, int]:
    """`/dev/log`, `loghost:514` (UDP), `tcp://loghost:601`."""
    if where.startswith("/"):
        return where
    host, _colon, port = where.removeprefix("tcp://").rpartition(":")
    return host, int(port)
