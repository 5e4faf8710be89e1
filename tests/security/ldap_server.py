"""A directory of our own: Debian's slapd with its configuration, data and certificates in a folder that goes away.

Two authorities: `ca.pem` vouches for the server as `localhost` (and for no address), `other.pem` for nobody here.
"""

import datetime
import shutil
import socket
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import ldap3
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from tests.plugins.server_process import Server, ServerError, dies_with_us, free_port

SUFFIX = "dc=example,dc=org"
PEOPLE, GROUPS = f"ou=people,{SUFFIX}", f"ou=groups,{SUFFIX}"
ROOT_DN = f"cn=root,{SUFFIX}"
READER, READER_PASSWORD = f"cn=giveway,{SUFFIX}", "the reader's word"
PASSWORD = "correct horse (battery) * staple"
PACKAGE = "slapd"

CONFIG = """\
include /etc/ldap/schema/core.schema
include /etc/ldap/schema/cosine.schema
include /etc/ldap/schema/nis.schema
include /etc/ldap/schema/inetorgperson.schema
modulepath /usr/lib/ldap
moduleload back_mdb.so
TLSCACertificateFile {folder}/ca.pem
TLSCertificateFile {folder}/server.pem
TLSCertificateKeyFile {folder}/server.key
database mdb
suffix "{suffix}"
rootdn "{root}"
rootpw {password}
directory {folder}/data
maxsize 16777216
access to attrs=userPassword by anonymous auth by * none
access to * by dn.exact="{reader}" read by * none
"""
DATA = """\
dn: {suffix}
objectClass: dcObject
objectClass: organization
o: Example
dc: example

dn: {people}
objectClass: organizationalUnit
ou: people

dn: {groups}
objectClass: organizationalUnit
ou: groups

dn: {reader}
objectClass: applicationProcess
objectClass: simpleSecurityObject
cn: giveway
userPassword: {reader_password}

"""


class DirectoryServer(Server):
    """slapd with `ldap://` and `ldaps://`; people and groups are added with `person` and `group`."""

    package = PACKAGE
    silence = OSError

    def __init__(self) -> None:
        super().__init__()
        self.tls_port = free_port()

    @property
    def url(self) -> str:
        """Plain, or with StartTLS."""
        return f"ldap://localhost:{self.port}"

    @property
    def tls_url(self) -> str:
        return f"ldaps://localhost:{self.tls_port}"

    def start(self) -> None:
        if not (self.folder / "data").exists():
            self._prepare()
        super().start()

    def command(self) -> list[str]:
        listen = f"ldap://127.0.0.1:{self.port} ldaps://127.0.0.1:{self.tls_port}"
        program = [tool("slapd"), "-f", str(self.folder / "slapd.conf"), "-h", listen, "-d", "0"]
        return [*dies_with_us(self.stop_signal), *program]

    def ping(self) -> None:
        socket.create_connection(("127.0.0.1", self.port), timeout=5).close()

    @contextmanager
    def as_root(self) -> Iterator[ldap3.Connection]:
        server = ldap3.Server("127.0.0.1", port=self.port, get_info=ldap3.NONE, connect_timeout=5)
        root = ldap3.Connection(server, ROOT_DN, self.password, raise_exceptions=True, check_names=False)
        try:
            root.bind()
            yield root
        finally:
            root.unbind()

    def person(self, uid: str, number: int = 1, **more: str) -> str:
        """Somebody with the password; their place in the directory."""
        dn = f"employeeNumber={number},{PEOPLE}"
        told = {"cn": uid, "sn": uid, "uid": uid, "employeeNumber": str(number), "mail": f"{uid}@example.org"}
        with self.as_root() as root:
            root.add(dn, ["inetOrgPerson"], {**told, "userPassword": PASSWORD, **more})
        return dn

    def group(self, name: str, *members: str) -> None:
        """A group of entries, made or made anew."""
        dn = f"cn={name},{GROUPS}"
        with self.as_root() as root:
            root.add(dn, ["groupOfNames"], {"cn": name, "member": list(members)})

    def change(self, dn: str, **values: Sequence[str]) -> None:
        """An entry's attributes, replaced."""
        with self.as_root() as root:
            changes = {name: [(ldap3.MODIFY_REPLACE, list(told))] for name, told in values.items()}
            root.modify(dn, changes)

    def clear(self) -> None:
        """Nobody, and no groups."""
        with self.as_root() as root:
            for base in (PEOPLE, GROUPS):
                root.search(base, "(objectClass=*)", ldap3.LEVEL, attributes=[ldap3.NO_ATTRIBUTES])
                for row in list(root.response or []):
                    root.delete(row["dn"])

    def _prepare(self) -> None:
        (self.folder / "data").mkdir()
        certificates(self.folder)
        config = self.folder / "slapd.conf"
        config.write_text(
            CONFIG.format(
                folder=self.folder, suffix=SUFFIX, root=ROOT_DN, reader=READER, password=self.password
            )
        )
        data = DATA.format(
            suffix=SUFFIX, people=PEOPLE, groups=GROUPS, reader=READER, reader_password=READER_PASSWORD
        )
        done = subprocess.run(
            [tool("slapadd"), "-q", "-f", str(config)],
            input=data,
            capture_output=True,
            text=True,
            timeout=300,
        )
        if done.returncode:
            raise ServerError(f"slapadd failed:\n{done.stdout}{done.stderr}")


def tool(name: str) -> str:
    """Debian keeps them in /usr/sbin, which is not on everybody's PATH."""
    path = shutil.which(name, path="/usr/sbin:/usr/local/sbin:/usr/bin")
    if path is None:
        raise ServerError(f"{name} is not installed: apt-get install {PACKAGE}")
    return path


def certificates(folder: Path) -> None:
    """`ca.pem`, `server.pem` and `server.key` of localhost, and `other.pem`, an authority of nobody's."""
    key, ca = _authority("Example CA")
    _other_key, other = _authority("Another CA")
    own = ec.generate_private_key(ec.SECP256R1())
    name = x509.SubjectAlternativeName([x509.DNSName("localhost")])
    server = _certificate("localhost", own, ca.subject).add_extension(name, critical=False)
    (folder / "ca.pem").write_bytes(ca.public_bytes(serialization.Encoding.PEM))
    (folder / "other.pem").write_bytes(other.public_bytes(serialization.Encoding.PEM))
    (folder / "server.pem").write_bytes(
        server.sign(key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)
    )
    (folder / "server.key").write_bytes(
        own.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.TraditionalOpenSSL,
            serialization.NoEncryption(),
        )
    )


def _authority(name: str) -> tuple[ec.EllipticCurvePrivateKey, x509.Certificate]:
    key = ec.generate_private_key(ec.SECP256R1())
    builder = _certificate(name, key, _named(name))
    builder = builder.add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
    return key, builder.sign(key, hashes.SHA256())


def _certificate(name: str, key: ec.EllipticCurvePrivateKey, issuer: x509.Name) -> x509.CertificateBuilder:
    now = datetime.datetime.now(datetime.UTC)
    return x509.CertificateBuilder(
        issuer_name=issuer,
        subject_name=_named(name),
        public_key=key.public_key(),
        serial_number=x509.random_serial_number(),
        not_valid_before=now - datetime.timedelta(days=1),
        not_valid_after=now + datetime.timedelta(days=1),
    )


def _named(name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
