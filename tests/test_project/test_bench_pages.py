"""`bench.web` asks for every page that the console has."""

from collections.abc import Iterator
from typing import Any

from django.urls import URLPattern, URLResolver, get_resolver, resolve

from bench.web_pages import ASKED, Filled

POSTED = {
    "theme", "language", "logout", "account-token", "account-token-revoke", "account-sessions-end", "account-password",
    "plan-decide", "incident-close", "pause-partition", "resume-partition", "pause-all", "resume-all",
    "power-incident-drain", "power-incident-put-back", "power-incident-leave", "partition-power-rule",
    "partition-power-measure", "partition-power-figures", "policy-what-if", "task-types-trial", "quotas-what-if",
    "project-what-if", "new-project-what-if", "request-what-if", "priority-file-what-if", "priority-file-propose",
    "priority-file-confirm", "partition-activate", "partition-draft-delete", "setup-withdraw", "setup-later",
    "person-sessions-end", "person-token-revoke", "study-cancel", "levels-preview", "audit-verify", "audit-export",
    "audit-save-search", "audit-delete-search",
}  # fmt: skip
"""Not to be looked at: they change something, or answer a form."""
ELSEWHERE = {
    "login",  # the measure of all others, asked in turns with them
    "setup-administrator", "invitation",  # for somebody without an account
    "propose-project", "project-request-withdraw", "project-proposal-withdraw",  # for a manager
    "oidc", "oidc-callback",  # lead elsewhere
    "metrics", "healthz-web", "healthz-cycle", "plan-snapshot", "priority-file-export",  # for programs
}  # fmt: skip


def patterns(of: Any = None) -> Iterator[URLPattern]:
    """Every address of the console but those of the API."""
    for pattern in get_resolver().url_patterns if of is None else of:
        if isinstance(pattern, URLResolver):
            yield from patterns(pattern.url_patterns)
        elif not str(pattern.name).startswith("api-"):
            yield pattern


def asked() -> set[str]:
    """The names of the addresses that the measurement asks for, whatever they are asked about."""
    numbers = dict.fromkeys(Filled.__dataclass_fields__, 1)
    paths = {what.format(**numbers, unique=0).partition("?")[0] for what, _part in ASKED}
    return {str(resolve(path).url_name) for path in paths}


def test_every_page_is_measured() -> None:
    pages = {str(pattern.name) for pattern in patterns()} - POSTED - ELSEWHERE
    assert pages - asked() == set(), "add it to bench/web_pages.py, or say above why not"


def test_what_is_left_out_is_there_and_left_out() -> None:
    names = {str(pattern.name) for pattern in patterns()}
    assert names >= POSTED | ELSEWHERE
    assert not (POSTED | ELSEWHERE) & asked()
