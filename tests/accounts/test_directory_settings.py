"""What the environment says of a directory makes sense as a whole, or stops the start with one sentence."""

import runpy
from pathlib import Path
from typing import Any

import pytest
from django.core.exceptions import ImproperlyConfigured

from console.settings import sign_in
from tests.security.ldap_server import certificates

WHOLE = {
    "GIVEWAY_LDAP_URLS": "ldaps://a.example.org, ldap://b.example.org:1389",
    "GIVEWAY_LDAP_USER_BASE": "ou=people,dc=example,dc=org",
}


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> Any:
    def settings(**changes: str) -> dict[str, Any]:
        for name, value in {**WHOLE, **changes}.items():
            monkeypatch.setenv(name, value)
        return runpy.run_path(str(Path(sign_in.__file__).with_name("directory.py")))

    return settings


def test_a_whole_directory(read: Any, tmp_path: Path) -> None:
    certificates(tmp_path)
    (tmp_path / "word").write_text("the reader's word\n")
    found = read(
        GIVEWAY_LDAP_CA_FILE=str(tmp_path / "ca.pem"),
        GIVEWAY_LDAP_BIND_DN="cn=giveway",
        GIVEWAY_LDAP_BIND_PASSWORD_FILE=str(tmp_path / "word"),
        GIVEWAY_LDAP_USER_FILTER="(&(objectClass=user)(sAMAccountName={name}))",
        GIVEWAY_LDAP_GROUP_BASE="ou=groups,dc=example,dc=org",
        GIVEWAY_GROUPS_AUDITOR="revision",
    )
    assert found["GIVEWAY_LDAP_URLS"] == ["ldaps://a.example.org", "ldap://b.example.org:1389"]
    assert found["GIVEWAY_LDAP_BIND_PASSWORD"] == "the reader's word"
    assert found["GIVEWAY_LDAP_STARTTLS"] is True and "follow" in found["DIRECTORY_SCHEDULE"]


def test_no_directory_is_asked_for_nothing(read: Any) -> None:
    found = read(GIVEWAY_LDAP_URLS="", GIVEWAY_LDAP_USER_BASE="")
    assert found["GIVEWAY_LDAP_URLS"] == [] and found["DIRECTORY_SCHEDULE"] == {}


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"URLS": ""}, "URLS is not"),
        ({"USER_BASE": ""}, "takes both"),
        ({"URLS": "https://a.example.org"}, "must be like"),
        ({"URLS": "ldaps://a.example.org:many"}, "must be like"),
        ({"URLS": "ldaps://a.example.org/dc=org"}, "must be like"),
        ({"STARTTLS": "0"}, "unencrypted"),
        ({"CA_FILE": "/nowhere/ca.pem"}, "holds no certificates"),
        ({"CA_FILE": __file__}, "holds no certificates"),
        ({"BIND_DN": "cn=giveway"}, r"BIND_PASSWORD \(or _FILE\) is not"),
        ({"BIND_PASSWORD": "word"}, "BIND_DN is not"),
        ({"BIND_PASSWORD": "word", "BIND_PASSWORD_FILE": __file__}, "keep one"),
        ({"BIND_DN": "cn=giveway", "BIND_PASSWORD_FILE": "/nowhere/word"}, "cannot be read"),
        ({"USER_FILTER": "(uid=olga)"}, "with {name} in it"),
        ({"USER_FILTER": "uid={name}"}, "in brackets"),
        ({"USER_FILTER": "(uid={name}{dn})"}, "with {name} in it"),
        ({"NAME_ATTRIBUTE": "uid,cn"}, "one attribute"),
        ({"TIMEOUT_S": "0"}, "at least 1"),
    ],
)
def test_half_a_directory_stops_the_start(read: Any, change: dict[str, str], told: str) -> None:
    with pytest.raises(ImproperlyConfigured, match=told):
        read(**{f"GIVEWAY_LDAP_{name}": value for name, value in change.items()})


def test_groups_that_nobody_could_be_in_stop_the_start(read: Any) -> None:
    with pytest.raises(ImproperlyConfigured, match="nobody would be in it"):
        read(GIVEWAY_GROUPS_ADMINISTRATOR="hpc-admins")
