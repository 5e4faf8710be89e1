"""Sessions that end by themselves: after a time without a person at the page, and in any case after the longest time.

A page that polls is no person: somebody who has left a live page open is signed out all the same.
"""

from collections.abc import Callable
from functools import partial
from importlib import import_module
from typing import Any

from django.conf import settings
from django.contrib.auth import SESSION_KEY, logout
from django.contrib.auth.signals import user_logged_in
from django.contrib.sessions.backends.base import SessionBase, UpdateError
from django.db import DatabaseError
from django.dispatch import receiver
from django.http import HttpRequest, HttpResponse

from console.core import clock
from console.core.databases import is_closed, is_passing, written_at_once

BEGAN, SEEN = "began_at", "seen_at"
"""Keys of the session, in epoch seconds."""
SEEN_APART_S = 60
"""When a person was last seen is written down once a minute: reading must not become writing."""


class SessionLimitsMiddleware:
    """Between Django's authentication and the demand to be signed in."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        # Without a session in the request nobody is looked up: health checks and scripts ask no database for it.
        if request.COOKIES.get(settings.SESSION_COOKIE_NAME) and request.user.is_authenticated:
            _look_at(request)
        return self.get_response(request)


@receiver(user_logged_in, dispatch_uid="accounts.session_began")
def begin(*, request: HttpRequest | None, **_: Any) -> None:
    """A session begins; a token that is got for a password is none."""
    session = getattr(request, "session", None)
    if session is not None and SESSION_KEY in session:
        session[BEGAN] = session[SEEN] = int(clock.now().timestamp())


def _look_at(request: HttpRequest) -> None:
    session, now = request.session, int(clock.now().timestamp())
    began, seen = session.get(BEGAN), session.get(SEEN)
    if began is None or seen is None:  # a session from before there were limits
        session[BEGAN] = session[SEEN] = now
        return
    too_long = now - began >= settings.GIVEWAY_SESSION_LONGEST_S
    idle = now - seen >= settings.GIVEWAY_SESSION_IDLE_S
    if too_long or idle:
        logout(request)  # also out of the database: its cookie is worth nothing from now on
    elif now - seen >= SEEN_APART_S and not _is_poll(request):
        session[SEEN] = now
        # Not at the end of the request, as Django does: that would wait, and fail with a page that was made already.
        try:
            written_at_once(partial(_save, session))
        except UpdateError:  # ended a moment ago, from elsewhere
            logout(request)
        else:
            session.modified = False


def _save(session: SessionBase) -> None:
    """Raises `UpdateError` when the session is gone; what only hinders the database is raised as what it is: Django
    takes it for the same, and somebody would be signed out because a disk is full."""
    try:
        session.save()
    except UpdateError as error:
        cause = error.__context__
        if isinstance(cause, DatabaseError) and (is_passing(cause) or is_closed(cause)):
            raise cause from cause.__cause__
        raise


def _is_poll(request: HttpRequest) -> bool:
    return "HX-Request" in request.headers and "since" in request.GET


def forget_ended_sessions() -> None:
    """Delete the sessions whose time is over: nobody can use them, and nothing else would."""
    store: type[SessionBase] = import_module(settings.SESSION_ENGINE).SessionStore
    store.clear_expired()
