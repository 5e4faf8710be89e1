"""Whatever a page can do, the API can: every address that a page posts to, and what does the same over the API."""

from console.api import urls
from tests.api.conftest import offered_methods
from tests.ui.test_access import CASES

Done = set[tuple[str, str]]

SAME: dict[str, Done] = {
    "account-password": {("api-account-password", "put")},
    "account-sessions-end": {("api-sessions", "delete")},
    "account-token": {("api-tokens-list", "post")},
    "account-token-revoke": {("api-tokens-detail", "delete")},
    "audit-delete-search": {("api-audit-search", "delete")},
    "audit-export": {("api-audit-export", "get")},
    "audit-save-search": {("api-audit-searches", "post")},
    "audit-verify": {("api-audit-chain", "post")},
    "incident-close": {("api-incidents-close", "post")},
    "levels-preview": {("api-what-if", "post")},
    "new-project": {("api-projects-list", "post")},
    "new-project-what-if": {("api-what-if", "post"), ("api-studies-list", "post")},
    "partition-activate": {("api-drafts-activate", "post"), ("api-revisions-rollback", "post")},
    "partition-draft": {("api-drafts-detail", "put"), ("api-drafts-list", "post")},
    "partition-draft-delete": {("api-drafts-detail", "delete")},
    "partition-hindsight": {("api-partition-hindsight", "post")},
    "partition-policy": {("api-policy", "put"), ("api-policy", "patch")},
    "partition-quotas": {("api-policy", "patch"), ("api-drafts-list", "post")},
    "partition-power-figures": {("api-power", "post")},
    "partition-power-measure": {("api-power-measurements", "post")},
    "partition-power-rule": {("api-power-rule", "put")},
    "power-incident-drain": {("api-power-incident-drain", "post")},
    "power-incident-leave": {("api-power-incident-leave", "post")},
    "power-incident-put-back": {("api-power-incident-put-back", "post")},
    "pause-all": {("api-pause", "put")},
    "pause-partition": {("api-partition-pause", "put")},
    "person": {("api-people-detail", "patch")},
    "person-sessions-end": {("api-people-sessions", "delete")},
    "person-token-revoke": {("api-people-token", "delete")},
    "plan-decide": {("api-plans-decision", "post")},
    "policy-what-if": {
        ("api-what-if", "post"),
        ("api-studies-list", "post"),
        ("api-partition-hindsight", "post"),
    },
    "priority-file-confirm": {("api-config", "post")},
    "priority-file-propose": {("api-config", "post")},
    "priority-file-what-if": {("api-what-if", "post"), ("api-studies-list", "post")},
    "project": {("api-projects-detail", "put"), ("api-projects-detail", "patch")},
    "project-delete": {("api-projects-detail", "delete")},
    "project-proposal": {("api-project-proposals-decision", "post")},
    "project-proposal-withdraw": {("api-project-proposals-decision", "post")},
    "propose-project": {("api-project-proposals-list", "post")},
    "project-request": {("api-project-requests-decision", "post")},
    "project-request-withdraw": {("api-project-requests-decision", "post")},
    "project-rules": {("api-project-rules", "put")},
    "project-what-if": {("api-what-if", "post"), ("api-studies-list", "post")},
    "quotas-what-if": {("api-what-if", "post"), ("api-studies-list", "post")},
    "request-what-if": {("api-what-if", "post"), ("api-studies-list", "post")},
    "resume-all": {("api-pause", "delete")},
    "setup-cluster": {("api-setup", "post")},
    "setup-import": {("api-projects-list", "post"), ("api-policy", "put")},
    "setup-people": {("api-invitations-list", "post")},
    "setup-withdraw": {("api-invitations-detail", "delete")},
    "resume-partition": {("api-partition-pause", "delete")},
    "study-cancel": {("api-studies-cancel", "post")},
    "when": {("api-start-questions", "post")},
}
PAGES_ONLY: dict[str, str] = {
    "login": "a browser's session; a program has a token",
    "logout": "a browser's session; a program revokes its token",
    "theme": "how one browser looks",
    "language": "how one browser speaks",
    "setup-administrator": "the first account: nobody can be signed in before it",
    "invitation": "an invited person's first password: nobody can be signed in before it",
    "task-types-trial": "counts what the forecast history already tells; nothing depends on it",
    "setup-later": "which steps a page shows as put off; nothing depends on it",
}


def actions() -> set[str]:
    """Names of the pages that take a POST; tests/ui/test_access.py sees to it that none is missing."""
    return {case.page for case in CASES if case.method == "post"}


def test_whatever_a_page_can_do_the_api_can() -> None:
    assert actions() - SAME.keys() - PAGES_ONLY.keys() == set(), (
        "name what does the same, or say why nothing does"
    )


def test_what_does_the_same_is_there() -> None:
    offered = {
        (str(pattern.name), method) for pattern in urls.urlpatterns for method in offered_methods(pattern)
    }
    assert set().union(*SAME.values()) - offered == set()


def test_the_tables_name_no_page_that_is_gone() -> None:
    assert SAME.keys() - actions() == set()


def test_every_change_over_the_api_is_on_a_page_or_for_programs() -> None:
    """The other way round: what only programs need is named here."""
    programs = {
        ("api-token", "post"),
        ("api-token", "delete"),
        ("api-checkpoint-token", "post"),
        ("api-checkpoints", "post"),
        ("api-measurements", "post"),
        ("api-power-drivers", "post"),
    }
    writes = {
        (str(pattern.name), method)
        for pattern in urls.urlpatterns
        for method in offered_methods(pattern)
        if method != "get"
    }
    assert writes - programs - set().union(*SAME.values()) == set()
