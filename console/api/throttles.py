"""So many tries per address, as `GIVEWAY_TRUSTED_PROXIES` has it: the framework believes all that is sent or none."""

from rest_framework.request import Request
from rest_framework.throttling import ScopedRateThrottle

from console.accounts.addresses import client_address, neighbourhood


class AddressThrottle(ScopedRateThrottle):
    """By the view's `throttle_scope`."""

    def get_ident(self, request: Request) -> str:
        """Where the request comes from."""
        return neighbourhood(client_address(request._request))  # noqa: SLF001 - Django's own request has the address
