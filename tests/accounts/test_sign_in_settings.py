"""What the environment says of signing in makes sense, or stops the start with one sentence."""

import pytest
from django.core.exceptions import ImproperlyConfigured

from console.settings.sign_in import needed_with, secure_address


@pytest.mark.parametrize(
    "value",
    ["", "https://sso.example.org/realms/x", "http://127.0.0.1:8080", "http://localhost:1", "http://[::1]:1"],
)
def test_a_provider_has_a_safe_address(monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    monkeypatch.setenv("GIVEWAY_OIDC_ISSUER", value)
    assert secure_address("GIVEWAY_OIDC_ISSUER") == value


@pytest.mark.parametrize(
    "value", ["http://sso.example.org", "sso.example.org", "ftp://127.0.0.1", "https://"]
)
def test_any_other_address_stops_the_start(monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    monkeypatch.setenv("GIVEWAY_OIDC_ISSUER", value)
    with pytest.raises(ImproperlyConfigured, match="must be a whole https:// address"):
        secure_address("GIVEWAY_OIDC_ISSUER")


def test_half_a_provider_stops_the_start(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GIVEWAY_OIDC_CLIENT_ID", raising=False)
    assert needed_with("GIVEWAY_OIDC_ISSUER", "GIVEWAY_OIDC_CLIENT_ID") == ""
    monkeypatch.setenv("GIVEWAY_OIDC_ISSUER", "https://sso.example.org")
    with pytest.raises(ImproperlyConfigured, match="takes both"):
        needed_with("GIVEWAY_OIDC_ISSUER", "GIVEWAY_OIDC_CLIENT_ID")
