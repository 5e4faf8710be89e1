"""The database was readable by all: `nobody` copied it, took a session key, and was the administrator."""

import os
import pwd
import shutil
import sqlite3
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from tests.e2e.processes import manage
from tests.security.test_attacks.installation import Installation, installation

pytestmark = [pytest.mark.e2e]


@pytest.fixture(scope="module")
def folder() -> Iterator[Path]:
    """Not pytest's own, which nobody else may enter anyway."""
    made = Path(tempfile.mkdtemp(prefix="giveway-attacked-"))
    made.chmod(0o755)
    yield made
    shutil.rmtree(made)


@pytest.fixture(scope="module")
def found_open(folder: Path) -> Iterator[Installation]:
    """An installation of an earlier release, started by somebody with the usual umask."""
    made = installation(folder)
    made.home.chmod(0o755)
    for path in made.home.iterdir():
        path.chmod(0o755 if path.is_dir() else 0o644)
    before = os.umask(0o022)
    try:
        with made.served(folder / "web.log"):
            for command in (("steer", "--once"), ("audit", "anchor")):
                assert manage(*command, env=made.env).returncode == 0
            yield made
    finally:
        os.umask(before)


def opened(home: Path) -> list[str]:
    """What of an installation others may do anything with."""
    return [str(path) for path in (home, *home.rglob("*")) if path.stat().st_mode & 0o077]


def test_what_stood_open_is_closed_and_nothing_new_stands_open(found_open: Installation) -> None:
    assert found_open.client().sign_in("root").status == 302
    with closing(sqlite3.connect(found_open.home / "giveway.sqlite3")) as database:
        # Whoever closes the database last takes -wal and -shm away.
        database.execute("SELECT count(*) FROM django_session").fetchone()
        _nothing_stands_open(found_open)


def _nothing_stands_open(found_open: Installation) -> None:
    names = {path.name for path in found_open.home.iterdir()}
    assert {"giveway.sqlite3", "giveway.sqlite3-wal", "giveway.sqlite3-shm", "audit-anchors.log"} <= names
    assert any(name.startswith("simulator-") for name in names) and "secret-key" in names
    assert opened(found_open.home) == []


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can be somebody else")
def test_nobody_cannot_copy_the_database(found_open: Installation, folder: Path) -> None:
    nobody = pwd.getpwnam("nobody")

    def read(path: Path) -> int:
        return subprocess.run(
            ["cat", str(path)], user=nobody.pw_uid, group=nobody.pw_gid, extra_groups=[], capture_output=True
        ).returncode

    assert read(folder / "web.log") == 0, "or this test shows nothing"
    assert all(read(path) != 0 for path in found_open.home.iterdir() if path.is_file())


def test_whoever_reads_the_database_has_nobodys_session(found_open: Installation) -> None:
    browser = found_open.client()
    assert browser.sign_in("root").status == 302
    assert browser.ask("GET", "/account/").status == 200
    with sqlite3.connect(found_open.home / "giveway.sqlite3") as database:
        rows = [row[0] for row in database.execute("SELECT session_key FROM django_session")]
    assert rows and browser.cookies["sessionid"] not in rows
    for key in rows:
        thief = found_open.client()
        thief.cookies["sessionid"] = key
        assert thief.ask("GET", "/account/").status == 302


def test_signing_out_everywhere_still_ends_them_all(found_open: Installation) -> None:
    browsers = [found_open.client() for _ in range(2)]
    for browser in browsers:
        assert browser.sign_in("vera").status == 302
    page = browsers[0].ask("GET", "/account/").text
    token = page.split('name="csrfmiddlewaretoken" value="')[1].split('"')[0]
    browsers[0].ask("POST", "/account/sessions/end/", f"csrfmiddlewaretoken={token}")
    assert [browser.ask("GET", "/account/").status for browser in browsers] == [302, 302]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_the_doctor_fails_what_it_cannot_close(tmp_path: Path) -> None:
    made = installation(tmp_path)
    stranger = pwd.getpwnam("nobody")
    for path in (made.home, made.home / "giveway.sqlite3"):
        os.chown(path, stranger.pw_uid, stranger.pw_gid)
    made.home.chmod(0o755)
    (made.home / "giveway.sqlite3").chmod(0o644)
    told = manage("doctor", env=made.env)
    assert told.returncode == 1
    assert (
        "FAIL  files" in told.stdout
        and f"chmod 700 {made.home}" in told.stdout
        and "chmod go=" in told.stdout
    )


def test_a_folder_that_others_live_in_is_not_taken_from_them(tmp_path: Path) -> None:
    made = installation(tmp_path)
    made.home.chmod(0o755)
    (made.home / "something-else").write_text("of somebody's")
    assert manage("check", env=made.env).returncode == 0
    assert made.home.stat().st_mode & 0o777 == 0o755
    assert (made.home / "giveway.sqlite3").stat().st_mode & 0o777 == 0o600
    assert "FAIL  files" in manage("doctor", env=made.env).stdout
