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
            directory.try_search(address)
        except DirectoryError as error:
            yield fail(NAME, "doctor.directory.no_help", address=address, why=error.why)
        else:
            yield ok(NAME, "doctor.directory.answers", address=address)
