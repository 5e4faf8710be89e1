"""A small, real OpenID provider: `python oidc_provider.py PORT`. It signs with RS256 and checks client, code and PKCE.

`POST /control` sets who signs in and which fault the next token has; whoever comes to /authorize is signed in as them.
"""

import base64
import hashlib
import json
import secrets
import sys
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

import jwt
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

CLIENT, SECRET = "giveway", "the-client's secret: 100% & more"
KEY, FOREIGN = (rsa.generate_private_key(public_exponent=65537, key_size=2048) for _ in range(2))
PUBLIC = KEY.public_key().public_bytes(
    serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
)
STATE: dict[str, Any] = {"claims": {}, "fault": "", "userinfo": {}, "seen": []}
CODES: dict[str, dict[str, str]] = {}


def id_token(issuer: str, nonce: str) -> str:
    now = int(time.time())
    claims = {"iss": issuer, "aud": CLIENT, "iat": now, "exp": now + 300, "nonce": nonce, **STATE["claims"]}
    wrong: dict[str, dict[str, Any]] = {
        "issuer": {"iss": "https://evil.example"},
        "audience": {"aud": "another"},
        "also for another": {"aud": [CLIENT, "another"]},
        "expired": {"iat": now - 900, "exp": now - 600},
        "nonce": {"nonce": "another"},
        "no subject": {"sub": None},
        "no end": {"exp": None},
    }
    told = {**claims, **wrong.get(STATE["fault"], {})}
    return signed({name: value for name, value in told.items() if value is not None})


def signed(claims: dict[str, Any]) -> str:
    match STATE["fault"]:
        case "unsigned":
            return jwt.encode(claims, "", algorithm="none", headers={"kid": "one"})
        case "public key as secret":
            return by_hand(claims)
        case "foreign key":
            return jwt.encode(claims, FOREIGN, algorithm="RS256", headers={"kid": "one"})
        case "unknown key":
            return jwt.encode(claims, FOREIGN, algorithm="RS256", headers={"kid": "two"})
        case "garbage":
            return "a.b.c"
    return jwt.encode(claims, KEY, algorithm="RS256", headers={"kid": "one"})


def by_hand(claims: dict[str, Any]) -> str:
    """HS256 with the public key, which everybody knows: PyJWT itself refuses to make it."""
    import hmac

    def part(value: bytes) -> bytes:
        return base64.urlsafe_b64encode(value).rstrip(b"=")

    body = b".".join(part(json.dumps(each).encode()) for each in ({"alg": "HS256", "kid": "one"}, claims))
    return (body + b"." + part(hmac.new(PUBLIC, body, hashlib.sha256).digest())).decode()


class Provider(BaseHTTPRequestHandler):
    @property
    def issuer(self) -> str:
        return f"http://127.0.0.1:{sys.argv[1]}"

    def say(self, body: Any, status: int = 200, **headers: str) -> None:
        data = json.dumps(body).encode()
        self.send_response(status)
        for name, value in {"Content-Type": "application/json", **headers}.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def do_GET(self) -> None:
        address = urlsplit(self.path)
        query = {name: values[0] for name, values in parse_qs(address.query).items()}
        match address.path:
            case "/.well-known/openid-configuration":
                self.say(
                    {
                        "issuer": "https://evil.example" if STATE["fault"] == "name" else self.issuer,
                        "authorization_endpoint": f"{self.issuer}/authorize",
                        "token_endpoint": f"{self.issuer}/token",
                        "userinfo_endpoint": f"{self.issuer}/userinfo",
                        "jwks_uri": f"{self.issuer}/keys",
                    }
                )
            case "/keys":
                key = json.loads(jwt.algorithms.RSAAlgorithm.to_jwk(KEY.public_key()))
                self.say({"keys": [{**key, "kid": "one", "use": "sig", "alg": "RS256"}]})
            case "/authorize":
                self.authorize(query)
            case "/userinfo" if self.headers.get("Authorization") == "Bearer access":
                self.say(STATE["userinfo"])
            case "/control":
                self.say({"seen": STATE["seen"]})
            case _:
                self.say({}, 404)

    def authorize(self, query: dict[str, str]) -> None:
        STATE["seen"].append(query)
        asked = query.get("response_type"), query.get("client_id"), query.get("code_challenge_method")
        if asked != ("code", CLIENT, "S256") or "openid" not in query.get("scope", ""):
            return self.say({"error": "invalid_request"}, 400)
        answer = {"state": query["state"]}
        if STATE["fault"] == "refused":
            answer["error"] = "access_denied"
        else:
            answer["code"] = secrets.token_urlsafe(16)
            CODES[answer["code"]] = query
        return self.say({}, 302, Location=f"{query['redirect_uri']}?{urlencode(answer)}")

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0))).decode()
        if self.path == "/control":
            STATE.update({"fault": "", "userinfo": {}, "seen": [], **json.loads(body)})
            return self.say({})
        form = {name: values[0] for name, values in parse_qs(body).items()}
        return self.token(form) if self.path == "/token" else self.say({}, 404)

    def token(self, form: dict[str, str]) -> None:
        from urllib.parse import quote

        pair = f"{quote(CLIENT, safe='')}:{quote(SECRET, safe='')}"
        if self.headers.get("Authorization") != "Basic " + base64.b64encode(pair.encode()).decode():
            return self.say({"error": "invalid_client"}, 401)
        asked = CODES.pop(form.get("code", ""), None)  # good once
        digest = hashlib.sha256(form.get("code_verifier", "").encode()).digest()
        challenge = base64.urlsafe_b64encode(digest).rstrip(b"=").decode()
        if (
            asked is None
            or asked["code_challenge"] != challenge
            or asked["redirect_uri"] != form.get("redirect_uri")
        ):
            return self.say({"error": "invalid_grant"}, 400)
        return self.say(
            {
                "access_token": "access",
                "token_type": "Bearer",
                "id_token": id_token(self.issuer, asked["nonce"]),
            }
        )

    def log_message(self, *args: Any) -> None:
        """Quiet."""


if __name__ == "__main__":
    ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Provider).serve_forever()
