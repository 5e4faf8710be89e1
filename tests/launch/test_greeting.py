"""What `manage.py run` says when it is ready: all of it at once, for a script that waits for the first line."""

import pytest

from console.accounts.demonstration import LOGINS, PASSWORD
from console.launch.management.commands.run import greeting


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
