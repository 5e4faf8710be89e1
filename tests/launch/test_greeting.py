"""What `manage.py run` says when it is ready: all of it at once, for a script that waits for the first line."""

import io

import pytest

from console.accounts.demonstration import LOGINS, PASSWORD
from console.launch.management.commands.run import Command


class Pieces(io.StringIO):
    """A terminal that keeps what came to it, piece by piece."""

    def __init__(self) -> None:
        super().__init__()
        self.pieces: list[str] = []

    def write(self, text: str) -> int:
        self.pieces.append(text)
        return super().write(text)


@pytest.mark.django_db
@pytest.mark.parametrize("empty", [False, True], ids=["demonstration", "empty"])
def test_the_address_and_what_one_needs_to_sign_in_are_one_piece(empty: bool) -> None:
    terminal = Pieces()
    Command(stdout=terminal)._greet("http://127.0.0.1:8000", empty)
    (greeting,) = [piece for piece in terminal.pieces if piece.strip()]
    lines = greeting.splitlines()
    assert lines[0] == "Giveway is ready at http://127.0.0.1:8000"
    assert "http://127.0.0.1:8000/setup/administrator/" in lines[1]
    assert (PASSWORD in greeting) is not empty
    assert all((f"  {name}" in greeting) is not empty for name, _role, _words in LOGINS)
    assert lines[-1] == "Ctrl-C stops it."
