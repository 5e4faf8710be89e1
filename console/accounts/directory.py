"""The LDAP directory: who somebody is there, whether a password is theirs, and which groups they are in.

1. With the account of the settings (or none) the entry is searched by the name that was typed, escaped (RFC 4515, 3).
2. The name must be the entry's own to the letter: a directory does not mind capitals and spaces, and whoever guesses
   passwords would get ten tries more with each way of writing it.
3. The password is tried by binding as that entry, on a connection of its own (RFC 4511, 4.2). An empty one would be an
   unauthenticated bind, which succeeds for everybody (RFC 4513, 5.1.2), and is never sent.
4. The groups are searched with the account of the settings, so that they need not be readable for everybody.
TLS is Python's own, with the certificate and its name checked; there is no way to leave that out.

Whoever signs in keeps a thread of the web server until the directory has answered. So a few look-ups go on at once and
the next ones are turned away, and one look-up has so many seconds for all of its questions together.
"""

import math
import ssl
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

import ldap3
import structlog
from django.conf import settings
from django.utils.translation import gettext as _
from ldap3.core.exceptions import (
    LDAPException,
    LDAPNoSuchObjectResult,
    LDAPOperationResult,
    LDAPSizeLimitExceededResult,
)
from ldap3.utils.conv import escape_bytes, escape_filter_chars

from console.accounts.bounded_hashers import Turns
from console.accounts.single_sign_on import DirectoryError, Outsider

# --- One time for several questions: none of them may wait longer than what is left of it ---


LEAST_S = 0.1
"""No question is asked with less."""

_until: ContextVar[float | None] = ContextVar("when everything must be over", default=None)


@contextmanager
def within(seconds: float) -> Iterator[None]:
    """Everything that is asked inside, with `at_most`, is over in so many seconds."""
    token = _until.set(time.monotonic() + seconds)
    try:
        yield
    finally:
        _until.reset(token)


def at_most(seconds: float) -> float:
    """This long, or what is left where that is less. Raises `TimeoutError` when nothing is."""
    until = _until.get()
    if until is None:
        return seconds
    left = until - time.monotonic()
    if left < LEAST_S:
        raise TimeoutError("all questions together took too long")
    return min(seconds, left)


ISSUER = "LDAP"
"""One directory per installation: its entries are known by their own ids, whichever of its servers answers."""
NOT_THEIRS = frozenset({19, 48, 49, 50, 53})
"""Answers to a bind that mean "not with this password": locked, has none, wrong one, no right, unwilling."""
MOST_GROUPS = 2000
AT_ONCE, WAITING, WAIT_S = 2, 1, 1.0
"""Of eight threads; passwords that are hashed here have three of their own (`hashing`)."""
PORTS = {"ldap": 389, "ldaps": 636}
log = structlog.get_logger(__name__)

_turns = Turns(AT_ONCE, WAITING, WAIT_S)


class _Verified(ldap3.Tls):
    """ldap3 itself checks nothing unless told to, and brings its own comparison of names."""

    def wrap_socket(self, connection: Any, do_handshake: bool = False) -> None:
        context = ssl.create_default_context(cafile=settings.GIVEWAY_LDAP_CA_FILE or None)
        connection.socket = context.wrap_socket(connection.socket, server_hostname=connection.server.host)


@dataclass(frozen=True, slots=True)
class Entry:
    """Somebody's entry. `subject` is its id, which stays when names change."""

    dn: str
    subject: str
    names: tuple[str, ...]
    email: str
    cluster_user: str


def verified(name: str, password: str) -> Outsider | None:
    """Who has this name and password; None when nobody has. Raises `DirectoryError`, and `BusyError` for a moment."""
    if not password or not name:
        return None
    try:
        with _turns.one(), within(settings.GIVEWAY_LDAP_SIGN_IN_S):
            return _verified(name, password)
    except TimeoutError as error:
        raise _away(error) from error


def _verified(name: str, password: str) -> Outsider | None:
    with _connection(settings.GIVEWAY_LDAP_BIND_DN, settings.GIVEWAY_LDAP_BIND_PASSWORD) as directory:
        entry = _entry(directory, name)
        if entry is None or not _is_theirs(entry.dn, password):
            return None
        return _outsider(directory, entry, name)


def known_by(people: Sequence[tuple[str, str]]) -> list[Outsider | None]:
    """Who has these ids, given with the names that they had; None for who is gone or filtered out.

    All on one connection: it is done every hour, and other short work waits behind it.
    """
    if not people:
        return []
    with _connection(settings.GIVEWAY_LDAP_BIND_DN, settings.GIVEWAY_LDAP_BIND_PASSWORD) as directory:
        return [_known(directory, subject, name) for subject, name in people]


def _known(directory: Any, subject: str, name: str) -> Outsider | None:
    """By the name that the directory has for them now."""
    attribute = settings.GIVEWAY_LDAP_NAME_ATTRIBUTE
    wanted = f"({settings.GIVEWAY_LDAP_ID_ATTRIBUTE}={_written(subject)})"
    for row in _search(directory, settings.GIVEWAY_LDAP_USER_BASE, wanted, [attribute]):
        for own in _texts(row, attribute):
            entry = _entry(directory, own)
            if entry is not None and entry.subject == subject:
                return _outsider(directory, entry, name if name in entry.names else own)
    return None


def try_search(address: str) -> None:
    """Ask one of the servers for the places where people and groups are searched. Raises `DirectoryError`."""
    dn, password = settings.GIVEWAY_LDAP_BIND_DN, settings.GIVEWAY_LDAP_BIND_PASSWORD
    with _connection(dn, password, addresses=[address]) as directory:
        for base in filter(None, (settings.GIVEWAY_LDAP_USER_BASE, settings.GIVEWAY_LDAP_GROUP_BASE)):
            if not _search(directory, base, "(objectClass=*)", [], scope=ldap3.BASE):
                raise _trouble(
                    _("The directory has nothing at the place where the settings search."), why=base
                )


def _outsider(directory: Any, entry: Entry, name: str) -> Outsider:
    return Outsider(
        issuer=ISSUER,
        subject=entry.subject,
        username=name,
        email=entry.email,
        groups=_groups(directory, entry.dn, name),
        cluster_user=entry.cluster_user,
    )


def _entry(directory: Any, name: str) -> Entry | None:
    """The one entry of this name."""
    own = settings.GIVEWAY_LDAP_NAME_ATTRIBUTE
    wanted = settings.GIVEWAY_LDAP_USER_FILTER.replace("{name}", escape_filter_chars(name))
    further = (settings.GIVEWAY_LDAP_EMAIL_ATTRIBUTE, settings.GIVEWAY_LDAP_CLUSTER_USER_ATTRIBUTE)
    attributes = [own, settings.GIVEWAY_LDAP_ID_ATTRIBUTE, *filter(None, further)]
    rows = _search(directory, settings.GIVEWAY_LDAP_USER_BASE, wanted, attributes, most=2)
    if not rows or (len(rows) == 1 and name not in _texts(rows[0], own)):
        return None
    subjects = _texts(rows[0], settings.GIVEWAY_LDAP_ID_ATTRIBUTE)
    if len(rows) > 1:
        raise _trouble(_("The directory has several entries of this name. Ask an administrator."), why=name)
    if not subjects:
        raise _trouble(_("The directory tells no id for this name. Ask an administrator."), why=name)
    email, cluster_user = (next(iter(_texts(rows[0], each)), "") if each else "" for each in further)
    return Entry(str(rows[0]["dn"]), subjects[0], tuple(_texts(rows[0], own)), email, cluster_user)


def _groups(directory: Any, dn: str, name: str) -> frozenset[str]:
    if not settings.GIVEWAY_LDAP_GROUP_BASE:
        return frozenset()
    attribute = settings.GIVEWAY_LDAP_GROUP_ATTRIBUTE
    wanted = settings.GIVEWAY_LDAP_GROUP_FILTER.replace("{dn}", escape_filter_chars(dn))
    wanted = wanted.replace("{name}", escape_filter_chars(name))
    rows = _search(directory, settings.GIVEWAY_LDAP_GROUP_BASE, wanted, [attribute], most=MOST_GROUPS)
    return frozenset(text for row in rows for text in _texts(row, attribute))


def _is_theirs(dn: str, password: str) -> bool:
    """Whether the directory takes the password for the entry."""
    if not dn or not password:
        return False
    try:
        with _connection(dn, password, theirs=True):
            return True
    except LDAPOperationResult as error:
        if error.result in NOT_THEIRS:
            return False
        raise _away(error) from error


def _search(
    directory: Any, base: str, wanted: str, attributes: list[str], most: int = 0, scope: str = ldap3.SUBTREE
) -> list[dict[str, Any]]:
    seconds = at_most(settings.GIVEWAY_LDAP_TIMEOUT_S)
    directory.socket.settimeout(seconds)
    try:
        directory.search(
            base, wanted, search_scope=scope, attributes=attributes or [ldap3.NO_ATTRIBUTES], size_limit=most,
            time_limit=math.ceil(seconds),
        )  # fmt: skip
    except LDAPNoSuchObjectResult as error:
        raise _trouble(
            _("The directory has nothing at the place where the settings search."), why=base
        ) from error
    except LDAPSizeLimitExceededResult as error:
        raise _trouble(_("The directory has several entries of this name. Ask an administrator.")) from error
    return [row for row in directory.response or [] if row["type"] == "searchResEntry"]


@contextmanager
def _connection(
    dn: str, password: str, *, theirs: bool = False, addresses: list[str] | None = None
) -> Iterator[Any]:
    """Bound to the first of the directory's servers that answers.

    Raises `DirectoryError`, and with `theirs` what the server says to the password.
    """
    trouble: LDAPException | None = None
    for address in addresses or settings.GIVEWAY_LDAP_URLS:
        connection = _made(address, dn, password)
        try:
            connection.open(read_server_info=False)
            if not connection.server.ssl and settings.GIVEWAY_LDAP_STARTTLS:
                connection.start_tls(read_server_info=False)
        except LDAPException as error:
            _close(connection)
            trouble = error
            log.warning("a server of the directory cannot be used", server=address, why=str(error))
            continue
        try:
            connection.bind(read_server_info=False)
            yield connection
        except LDAPOperationResult as error:
            if theirs:
                raise
            raise _away(error) from error
        except LDAPException as error:
            raise _away(error) from error
        finally:
            _close(connection)
        return
    raise _away(trouble)


def _made(address: str, dn: str, password: str) -> Any:
    parts = urlsplit(address)
    server = ldap3.Server(
        parts.hostname or "",
        port=parts.port or PORTS[parts.scheme],
        use_ssl=parts.scheme == "ldaps",
        tls=_Verified(),
        get_info=ldap3.NONE,
        connect_timeout=at_most(settings.GIVEWAY_LDAP_CONNECT_TIMEOUT_S),
    )
    return ldap3.Connection(
        server,
        user=dn or None,
        password=password or None,
        raise_exceptions=True,
        auto_referrals=False,  # or the password would go wherever the answer points to
        check_names=False,
        read_only=True,
        receive_timeout=math.ceil(at_most(settings.GIVEWAY_LDAP_TIMEOUT_S)),
    )


def _close(connection: Any) -> None:
    """ldap3 leaves the socket open when it fails on the way."""
    try:
        connection.unbind()
    except LDAPException as error:
        log.debug("the directory was gone before we were", why=str(error))
    if connection.socket is not None:
        connection.socket.close()


def _away(error: Exception | None) -> DirectoryError:
    return _trouble(
        _("The directory cannot be asked now. Accounts with a password of this console can sign in."),
        why=f"{type(error).__name__}: {error}",
    )


def _trouble(sentence: str, why: str = "") -> DirectoryError:
    log.warning("the directory is no help", sentence=sentence, why=why)
    return DirectoryError(sentence, why)


def _texts(row: dict[str, Any], attribute: str) -> list[str]:
    """An attribute's values; what is no text (Active Directory's objectGUID) as `hex:` and its digits."""
    wanted = attribute.casefold()
    kept: list[bytes] = next(
        (values for name, values in row["raw_attributes"].items() if name.casefold() == wanted), []
    )
    return [text for text in (_text(value) for value in kept) if text]


def _text(value: bytes) -> str:
    try:
        text = value.decode()
    except UnicodeDecodeError:
        return f"hex:{value.hex()}"
    return text if text.isprintable() else f"hex:{value.hex()}"


def _written(subject: str) -> str:
    """An id as a filter has it."""
    if subject.startswith("hex:"):
        return str(escape_bytes(bytes.fromhex(subject.removeprefix("hex:"))))
    return str(escape_filter_chars(subject))
