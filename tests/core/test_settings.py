"""What the environment says makes sense, or stops the start with one sentence; none shows a password."""

import os
import sqlite3
from pathlib import Path

import pytest
from django.core.exceptions import ImproperlyConfigured

from console.core.files import free_bytes, is_open, own_folders, take_for_ourselves
from console.settings import env

SQLITE = "django.db.backends.sqlite3"


@pytest.mark.parametrize("name", ["a b", "目录", "100%", "c++", "x#1", "what?", "a&b=c"])
def test_any_name_of_a_folder_is_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """Of `c++` the database was looked for in `c  `, and of `x#1` beside the folder."""
    monkeypatch.setenv("GIVEWAY_HOME", str(tmp_path / name))
    monkeypatch.delenv("DATABASE_URL", raising=False)
    home = env.home()
    assert home == tmp_path / name and home.is_dir()
    assert env.database(home) == {"ENGINE": SQLITE, "NAME": str(tmp_path / name / "giveway.sqlite3")}


def test_an_empty_home_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIVEWAY_HOME", "")
    assert env.home() == env.BASE_DIR / "var", "it was the folder that one happened to be in"


@pytest.mark.parametrize("place", ["a-file", "a-file/below", "/proc/giveway", "~no-such-user/x"])
def test_a_home_that_cannot_be_made_is_one_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    (tmp_path / "a-file").touch()
    named = place if place[0] in "/~" else str(tmp_path / place)
    monkeypatch.setenv("GIVEWAY_HOME", named)
    with pytest.raises(ImproperlyConfigured, match="cannot be made") as said:
        env.home()
    assert str(said.value).startswith(f"GIVEWAY_HOME is '{named}'") and "\n" not in str(said.value)


def test_a_home_of_somebody_else_is_one_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever runs the doctor under his own account instead of the worker's."""
    monkeypatch.setenv("GIVEWAY_HOME", str(tmp_path))
    monkeypatch.setattr(os, "access", lambda *_: False)
    with pytest.raises(ImproperlyConfigured, match="Run this as the account of Giveway's processes"):
        env.home()
    with pytest.raises(ImproperlyConfigured, match="read-only"):
        env.writable(tmp_path)


def test_what_cannot_be_closed_is_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A home that is mounted read-only stopped every command with a traceback."""
    home = tmp_path / "home"
    home.mkdir()
    (home / "secret-key").touch(0o644)
    home.chmod(0o755)

    def read_only(*_: object, **__: object) -> None:
        raise OSError(30, "Read-only file system")

    with monkeypatch.context() as mounted:
        mounted.setattr(Path, "chmod", read_only)
        take_for_ourselves(home, {"ENGINE": SQLITE, "NAME": home / "giveway.sqlite3"})
    assert is_open(home), "the doctor says so"
    take_for_ourselves(home, {"ENGINE": SQLITE, "NAME": home / "giveway.sqlite3"})
    assert not is_open(home) and not is_open(home / "secret-key")


def test_a_secret_is_there_whole_or_not_at_all(tmp_path: Path) -> None:
    """A disk that was full at the first start left an empty file, and nothing started any more."""
    path = tmp_path / "secret-key"
    path.touch()
    made = env.kept_secret(path)
    assert len(made) >= env.LONG_SECRET and env.kept_secret(path) == made
    assert path.stat().st_mode & 0o777 == 0o600 and list(tmp_path.iterdir()) == [path]
    with pytest.raises(ImproperlyConfigured, match="cannot be read or made"):
        env.kept_secret(tmp_path / "none" / "secret-key")


@pytest.mark.parametrize(
    "url",
    [
        "postgres://giveway:sesame@db/giveway",
        "postgresql://giveway:se%23same@[::1]:5433/giveway?sslmode=require",
        "sqlite:////var/lib/giveway.sqlite3",
    ],
)
def test_an_address_of_a_database(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, url: str) -> None:
    monkeypatch.setenv("DATABASE_URL", url)
    found = env.database(tmp_path)
    assert found["NAME"] in {"giveway", "/var/lib/giveway.sqlite3"}


@pytest.mark.parametrize(
    "url",
    [
        "giveway",
        "postgres//giveway:sesame@db/giveway",
        "postgres://giveway:sesame@db:port/giveway",
        "postgres://giveway:sesame#1@db/giveway",
        "postgres://giveway:sesame@[::1/giveway",
        "postgres://giveway:sesame@db",
        "mysql://giveway:sesame@db/giveway",
    ],
)
def test_an_address_that_makes_no_sense_is_one_sentence_without_the_password(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, recwarn: pytest.WarningsRecorder, url: str
) -> None:
    monkeypatch.setenv("DATABASE_URL", url)
    with pytest.raises(
        ImproperlyConfigured, match=r"^DATABASE_URL makes no sense; write postgres://"
    ) as said:
        env.database(tmp_path)
    assert "sesame" not in str(said.value) and not list(recwarn)


@pytest.mark.parametrize("url", ["", "redis://127.0.0.1:6379/0", "rediss://:se%23same@redis.example.org/1"])
def test_an_address_of_redis(monkeypatch: pytest.MonkeyPatch, url: str) -> None:
    monkeypatch.setenv("REDIS_URL", url)
    assert env.redis_url() == url


@pytest.mark.parametrize(
    "url",
    [
        "127.0.0.1:6379",
        "redis:///0",
        "redis://:sesame@redis:port/0",
        "redis://:sesame#1@redis/0",
        "http://redis",
        "redis://[::1",
    ],
)
def test_an_address_of_redis_that_makes_no_sense(monkeypatch: pytest.MonkeyPatch, url: str) -> None:
    """The worker tried it for ever, and the doctor ended with a traceback."""
    monkeypatch.setenv("REDIS_URL", url)
    with pytest.raises(ImproperlyConfigured, match="REDIS_URL makes no sense; write redis://") as said:
        env.redis_url()
    assert "sesame" not in str(said.value)


@pytest.mark.parametrize(
    ("given", "zone"),
    [("", "UTC"), ("Asia/Kolkata", "Asia/Kolkata"), (":Europe/Berlin", "Europe/Berlin")],
)
def test_time_zones_as_shells_have_them(monkeypatch: pytest.MonkeyPatch, given: str, zone: str) -> None:
    monkeypatch.setenv("TZ", given)
    assert env.time_zone() == zone


def test_a_time_zone_by_its_file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """`TZ=:/etc/localtime` is what many machines have."""
    (tmp_path / "zones" / "Asia").mkdir(parents=True)
    (tmp_path / "zones" / "Asia" / "Kolkata").touch()
    (tmp_path / "localtime").symlink_to(tmp_path / "zones" / "Asia" / "Kolkata")
    monkeypatch.setattr(env, "ZONES", tmp_path / "zones")
    monkeypatch.setenv("TZ", f":{tmp_path / 'localtime'}")
    assert env.time_zone() == "Asia/Kolkata"


@pytest.mark.parametrize(
    "given", ["Mars/Base", "/etc/passwd", "../../etc/passwd", "CET-1CEST,M3.5.0,M10.5.0/3"]
)
def test_a_time_zone_that_is_none(monkeypatch: pytest.MonkeyPatch, given: str) -> None:
    monkeypatch.setenv("TZ", given)
    with pytest.raises(ImproperlyConfigured, match="is no time zone here; write for example"):
        env.time_zone()


def test_levels_of_the_log(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOG_LEVEL", "debug")
    assert env.log_level("INFO") == "DEBUG"
    monkeypatch.setenv("LOG_LEVEL", "chatty")
    with pytest.raises(ImproperlyConfigured, match="LOG_LEVEL is 'chatty'; it must be one of: "):
        env.log_level("INFO")
    monkeypatch.setenv("GIVEWAY_CYCLE_S", "inf")
    with pytest.raises(ImproperlyConfigured, match="must be a number, for example 1"):
        env.number("GIVEWAY_CYCLE_S", 1, 0.2)


def test_where_there_must_be_room(tmp_path: Path) -> None:
    home, other = tmp_path / "home", tmp_path / "other"
    home.mkdir()
    other.mkdir()
    sqlite3.connect(other / "d").close()
    assert own_folders(home, {"ENGINE": SQLITE, "NAME": str(home / "giveway.sqlite3")}) == [home]
    assert own_folders(home, {"ENGINE": SQLITE, "NAME": str(other / "d")}) == [home, other]
    assert own_folders(home, {"ENGINE": "django.db.backends.postgresql", "NAME": "giveway"}) == [home]
    assert free_bytes(home) > 0
