"""The LDAP directory of the sign-in: whether it can be asked, with what the settings say."""

from collections.abc import Iterator

from django.conf import settings

from console.health.doctor.findings import Finding, fail, ok

NAME = "directory"


def check_directory() -> Iterator[Finding]:
    """Nothing where no directory is set."""
    if not settings.GIVEWAY_LDAP_URLS:
        return
    from console.accounts import directory
    from console.accounts.single_sign_on import DirectoryError

    for address in settings.GIVEWAY_LDAP_URLS:
        try:
            directory.look(address)
        except DirectoryError as error:
            yield fail(
                NAME,
                f"{address} is no help: {error.why}",
                "Look at the address, GIVEWAY_LDAP_CA_FILE, GIVEWAY_LDAP_BIND_DN with its password, and the two bases.",
            )
        else:
            yield ok(NAME, f"{address} answers, and has the places where people and groups are searched.")
