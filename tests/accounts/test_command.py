"""`manage.py account`: the first administrator, and every other account, from the shell."""

import io

import pytest
from django.core.management import CommandError, call_command

from console.accounts.models import User
from console.audit.models import AuditEntry
from tests import factories
from tests.factories import PASSWORD

pytestmark = pytest.mark.django_db


def account(*arguments: str) -> str:
    out = io.StringIO()
    call_command("account", *arguments, stdout=out)
    return out.getvalue()


@pytest.fixture
def typed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Somebody pipes a password in."""
    monkeypatch.setattr("sys.stdin", io.StringIO(f"{PASSWORD}\nignored\n"))


def test_the_first_administrator(typed: None) -> None:
    said = account("add", "ada", "--role", "administrator", "--password-stdin", "--reason", "Set up.")
    assert said == "Made the account ada (Administrator).\n"
    assert User.objects.get().check_password(PASSWORD)
    entry = AuditEntry.objects.get()
    assert entry.actor.startswith("shell:")
    assert (entry.action, entry.reason) == ("account.created", "Set up.")


def test_a_password_is_asked_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    answers = iter([PASSWORD, PASSWORD, PASSWORD, "mistyped"])
    monkeypatch.setattr("getpass.getpass", lambda prompt: next(answers))
    account("add", "ada")
    assert User.objects.get().check_password(PASSWORD)
    with pytest.raises(CommandError, match="not the same"):
        account("add", "ben")


def test_where_nobody_types_it_is_said_how(monkeypatch: pytest.MonkeyPatch) -> None:
    """In a script, with /dev/null for a keyboard: it was a traceback."""

    def nobody(_prompt: str) -> str:
        raise EOFError

    monkeypatch.setattr("getpass.getpass", nobody)
    with pytest.raises(CommandError, match="--password-stdin reads it"):
        account("add", "ada")


def test_an_account_without_a_password() -> None:
    account("add", "sso", "--no-password")
    assert not User.objects.get().has_usable_password()


def test_a_change_leaves_the_rest(typed: None) -> None:
    pam = factories.make_user("pam", email="pam@example.org")
    account("change", "pam", "--role", "auditor", "--cluster-user", "pam1", "--password-stdin")
    pam.refresh_from_db()
    assert (pam.role, pam.cluster_user, pam.email) == ("auditor", "pam1", "pam@example.org")
    assert pam.check_password(PASSWORD)
    account("change", "pam", "--inactive")
    pam.refresh_from_db()
    assert not pam.is_active
    account("change", "pam", "--active", "--email", "")
    pam.refresh_from_db()
    assert (pam.is_active, pam.email, pam.role) == (True, "", "auditor")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["change", "nobody", "--role", "viewer"], "There is no account nobody"),
        (["add", "vera", "--no-password"], "username: .*already exists"),
        (["change", "ada", "--inactive"], "active: This is the last administrator"),
    ],
)
def test_what_is_wrong_is_one_line_and_status_2(arguments: list[str], message: str) -> None:
    factories.make_viewer("vera")
    factories.make_administrator("ada")
    with pytest.raises(CommandError, match=message) as error:
        account(*arguments)
    assert error.value.returncode == 2
    assert "\n" not in str(error.value)


def test_a_list_of_accounts() -> None:
    factories.make_viewer("vera")
    factories.make_user("former", is_active=False)
    assert account("list") == "former  viewer  switched off\nvera  viewer\n"


def test_djangos_own_way_to_a_superuser_is_closed() -> None:
    with pytest.raises(CommandError, match="account add NAME --role administrator"):
        call_command("createsuperuser")
    assert not User.objects.exists()
