"""What `manage.py run` says when it is ready: all of it at once, for a script that waits for the first line."""

import pytest
from django.core.management import CommandError
from django.db import connection
from django.db.migrations.recorder import MigrationRecorder

from console.accounts.demonstration import LOGINS, PASSWORD
from console.launch.management.commands.run import _prepare, greeting


@pytest.mark.django_db
@pytest.mark.parametrize("empty", [False, True], ids=["demonstration", "empty"])
def test_the_address_and_what_one_needs_to_sign_in(empty: bool) -> None:
    said = greeting("http://127.0.0.1:8000", empty)
    lines = said.splitlines()
    assert lines[0] == "Giveway is ready at http://127.0.0.1:8000"
    assert "http://127.0.0.1:8000/setup/administrator/" in lines[1]
    assert (PASSWORD in said) is not empty
    assert all((f"  {name}" in said) is not empty for name, _role, _words in LOGINS)
    assert lines[-1] == "Ctrl-C stops it."


@pytest.mark.django_db
def test_a_database_of_another_version_is_refused_before_anything_is_changed() -> None:
    MigrationRecorder(connection).record_applied("steering", "0023_pace")
    with pytest.raises(
        CommandError, match=r"another version of Giveway \(steering\.0023_pace is not known here\)"
    ):
        _prepare(8000, empty=True)
