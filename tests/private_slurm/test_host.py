"""What the host must offer, and what is said where it does not."""

import os
import pwd
import secrets
import shutil
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from deploy.private_slurm import PrivateSlurm, PrivateSlurmError, host, releases, users
from tests.plugins import private_slurm as plugin


@pytest.fixture
def somebody() -> Iterator[str]:
    """A name nobody has on this host; the user is removed afterwards if one was made."""
    if os.geteuid() != 0:
        pytest.skip("only root makes users")
    name = f"gw{secrets.token_hex(4)}"
    yield name
    users.remove_ours([name])


def test_missing_packages_are_named_with_the_way_to_get_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda name, path: None if name == "slurmctld" else f"/bin/{name}")

    assert PrivateSlurm.unavailable_reason() == (
        "The commands slurmctld are missing; install them with: apt-get install slurmctld."
    )


def test_somebody_who_is_not_root_is_told_why_root_is_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda name, path: f"/bin/{name}")
    monkeypatch.setattr(os, "geteuid", lambda: 1000)

    assert "must be started by root" in str(PrivateSlurm.unavailable_reason())


def test_starting_where_it_cannot_be_says_the_same_and_makes_nothing(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(host, "unavailable_reason", lambda: "There is no Slurm here.")

    with pytest.raises(PrivateSlurmError, match="There is no Slurm here"):
        PrivateSlurm(tmp_path / "new").start()

    assert not (tmp_path / "new").exists()


def test_fixtures_skip_with_the_reason_and_fail_where_slurm_is_required(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(host, "unavailable_reason", lambda: "There is no Slurm here.")

    monkeypatch.delenv("GIVEWAY_REQUIRE_SLURM", raising=False)
    with pytest.raises(pytest.skip.Exception, match="There is no Slurm here"):
        plugin.need_slurm()
    monkeypatch.setenv("GIVEWAY_REQUIRE_SLURM", "1")
    with pytest.raises(pytest.fail.Exception, match="GIVEWAY_REQUIRE_SLURM=1, but: There is no Slurm here"):
        plugin.need_slurm()


def test_a_release_that_is_not_unpacked_is_skipped_and_fails_where_it_is_required(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(host, "unavailable_reason", lambda: None)
    monkeypatch.setenv(releases.PLACE, str(tmp_path))

    monkeypatch.delenv("GIVEWAY_REQUIRE_SLURM_RELEASES", raising=False)
    plugin.need_slurm()  # the installed one
    with pytest.raises(pytest.skip.Exception, match=r"Slurm 26\.05 is not unpacked"):
        plugin.need_slurm("26.05")
    monkeypatch.setenv("GIVEWAY_REQUIRE_SLURM_RELEASES", "1")
    with pytest.raises(pytest.fail.Exception, match=r"GIVEWAY_REQUIRE_SLURM_RELEASES=1, but: Slurm 26\.05"):
        plugin.need_slurm("26.05")


def test_a_port_with_a_listener_is_not_free(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        taken = listener.getsockname()[1]
        monkeypatch.setattr(host, "PORTS", range(taken, taken + 1))

        with pytest.raises(PrivateSlurmError, match="1 free ports are needed, but only 0 are free"):
            host.free_ports(1)


def test_ports_differ_and_avoid_those_that_were_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    tried = host.free_ports(5)

    assert len(set(tried)) == 5
    assert not set(host.free_ports(20, avoid=tried)) & set(tried)


def test_a_folder_ordinary_users_cannot_enter_is_refused(tmp_path: Path) -> None:
    closed = tmp_path / "closed"
    (closed / "root").mkdir(parents=True)
    closed.chmod(0o700)

    with pytest.raises(PrivateSlurmError, match=f"ordinary users cannot enter {closed}"):
        host.check_reachable(closed / "root")


def test_only_a_long_root_gets_an_alias(tmp_path: Path) -> None:
    assert host.short_alias(Path("/tmp/short")) is None

    long = tmp_path / ("l" * 80)
    long.mkdir()
    alias = host.short_alias(long)
    assert alias is not None
    try:
        assert alias.resolve() == long
        assert len(str(alias)) < host.SOCKET_ROOM
    finally:
        alias.unlink()
        alias.parent.rmdir()


def test_a_missing_user_is_made_without_password_and_can_be_found_and_removed_again(somebody: str) -> None:
    users.ensure_users([somebody])
    users.ensure_users([somebody])  # there already: nothing to do

    entry = pwd.getpwnam(somebody)
    assert (entry.pw_shell, entry.pw_dir) == ("/bin/sh", "/nonexistent")
    assert password_of(somebody) == "!"
    assert entry.pw_uid >= users.FIRST_ORDINARY_UID
    assert users.remove_ours([somebody, "root"]) == [somebody]
    with pytest.raises(KeyError):
        pwd.getpwnam(somebody)


def password_of(user: str) -> str:
    """The password of an account, as the system keeps it."""
    return next(
        line for line in Path("/etc/shadow").read_text().splitlines() if line.startswith(f"{user}:")
    ).split(":")[1]


def test_a_user_of_ours_without_a_shell_is_given_one(somebody: str) -> None:
    users.ensure_users([somebody])
    subprocess.run(["usermod", "--shell", "/usr/sbin/nologin", somebody], check=True, timeout=300)

    users.ensure_users([somebody])

    assert pwd.getpwnam(somebody).pw_shell == "/bin/sh"


def test_a_system_account_is_not_taken_for_a_user() -> None:
    with pytest.raises(PrivateSlurmError, match="user 'daemon' is a system account"):
        users.ensure_users(["daemon"])


def test_a_name_that_useradd_refuses_is_an_error_with_its_words() -> None:
    if os.geteuid() != 0:
        pytest.skip("only root makes users")
    with pytest.raises(PrivateSlurmError, match=r"useradd .* failed: .*not:an:user"):
        users.ensure_users(["not:an:user"])
