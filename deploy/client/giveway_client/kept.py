"""Where the console is, and who asks: from the environment, or kept by `giveway login`."""

from __future__ import annotations

import os
import stat
import tempfile
from pathlib import Path
from typing import NamedTuple

from giveway_client.client import Giveway
from giveway_client.errors import GivewayError
from giveway_client.transport import api_address
from giveway_client.words import _, used


class Login(NamedTuple):
    """A console's address and a token for it; either may be empty."""

    url: str
    token: str


def kept_at() -> Path:
    """Where `login` keeps the token."""
    config = os.environ.get("XDG_CONFIG_HOME") or "~/.config"
    try:
        return Path(config).expanduser() / "giveway" / "token"
    except RuntimeError:
        raise GivewayError(_("no home folder is known; set GIVEWAY_URL and GIVEWAY_TOKEN")) from None


def read_kept() -> Login:
    """What `login` has kept: the address, then the token, a line each."""
    path = kept_at()
    try:
        with path.open(encoding="utf-8") as file:
            if os.fstat(file.fileno()).st_mode & (stat.S_IRWXG | stat.S_IRWXO):
                raise GivewayError(
                    _("%(path)s may be read by others; do: chmod 600 %(path)s") % {"path": path}
                )
            lines = file.read().splitlines()
    except FileNotFoundError:
        return Login("", "")
    except (OSError, UnicodeDecodeError) as error:
        raise GivewayError(_("%(path)s cannot be read: %(why)s") % {"path": path, "why": error}) from None
    if len(lines) < 2:
        raise GivewayError(_("%(path)s is not whole; do: giveway login") % {"path": path})
    return Login(lines[0], lines[1])


def keep(login: Login) -> Path:
    """Write the token down so that nobody else can read it, all or nothing."""
    path = kept_at()
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=str(path.parent), prefix=".token")  # made with mode 0600
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(f"{login.url}\n{login.token}\n")
        Path(name).replace(path)
    except OSError as error:
        raise GivewayError(_("the token cannot be kept: %(why)s") % {"why": error}) from None
    return path


def current_login() -> Login:
    """From the environment, else as kept. A kept token goes to no other address than its own."""
    url, token = os.environ.get("GIVEWAY_URL", ""), os.environ.get("GIVEWAY_TOKEN", "")
    if url and token:
        return Login(api_address(url), token)
    kept = read_kept()
    if not (url or kept.url):
        raise GivewayError(_("not logged in; do: giveway login (or set GIVEWAY_URL and GIVEWAY_TOKEN)"))
    address = api_address(url or kept.url)
    if not token and address != api_address(kept.url or address):
        text = _("the token that is kept is for %(kept)s; do: giveway login --url %(url)s")
        raise GivewayError(text % {"kept": kept.url, "url": url})
    token = token or kept.token
    if not token:
        raise GivewayError(_("no token; do: giveway login (or set GIVEWAY_TOKEN)"))
    return Login(address, token)


def read_kept_or_nothing() -> Login:
    """Logging in mends whatever is wrong with what is kept."""
    try:
        return read_kept()
    except GivewayError:
        return Login("", "")


def console() -> Giveway:
    """The console, asked as whoever is logged in."""
    login = current_login()
    return Giveway(login.url, login.token, language=used())
