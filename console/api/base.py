"""What all resources share: who may read, which query parameters exist, where a change comes from."""

from collections.abc import Callable
from datetime import UTC
from functools import cached_property, partial
from typing import Any, ClassVar

from django.http import Http404
from django.utils.cache import patch_cache_control
from django.utils.translation import get_language
from django.utils.translation import gettext as _
from django_filters.rest_framework import FilterSet
from drf_spectacular.utils import extend_schema
from rest_framework import generics, mixins, serializers
from rest_framework.exceptions import ValidationError
from rest_framework.permissions import BasePermission, IsAuthenticated
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from console.accounts.access import require_read
from console.accounts.models import User
from console.accounts.permissions import Permission
from console.accounts.too_many_requests import wait_for_allowance
from console.api.errors import SpentAllowanceError
from console.api.etags import READING, Validated, is_one_of
from console.api.idempotency import first_answer, once
from console.cluster.models import Cluster
from console.cluster.selectors import shown_cluster
from console.core.l10n_format import in_a_row, is_english

# Moments are told in UTC, wherever this machine is (docs/api.md); by itself each field takes TIME_ZONE.
serializers.DateTimeField.timezone = UTC


class MayRead(BasePermission):
    """The view's `permission`, without which it is not there (404); None: being signed in is enough."""

    def has_permission(self, request: Request, view: Any) -> bool:
        """Whether this account may use the view at all."""
        if view.permission is not None:
            require_read(request, view.permission)
        return True


class ApiView(Validated, generics.GenericAPIView):
    """A resource of the configured cluster, for signed-in people.

    `parameters` are the query parameters it knows besides its filters and pages: others are refused, because a
    misspelt filter that is ignored returns the wrong rows without a word.
    """

    permission: ClassVar[Permission | None] = None
    body_limit: ClassVar[str] = "body"
    saves_nothing: ClassVar[bool] = False
    """Whether a write is a question: it is answered outside any transaction, for it may take seconds."""
    checks_first: ClassVar[bool] = False
    """Whether a write changes things within `changes.changing` alone, and checks what was sent before."""
    parameters: ClassVar[frozenset[str]] = frozenset()
    permission_classes: ClassVar[Any] = [IsAuthenticated, MayRead]

    @cached_property
    def cluster(self) -> Cluster:
        """The cluster that this console is attached to."""
        return shown_cluster()

    def version_tag(self) -> str:
        """For `weak_tag`: what a view shows of the mirror alone stays the same until the cluster's version grows."""
        language = "" if is_english() else f".{get_language()}"
        return f'W/"{self.cluster.pk}.{self.cluster.version}{language}"'

    @property
    def person(self) -> User:
        """Who asks; the permissions above have made sure that somebody does."""
        user = self.request.user
        assert isinstance(user, User)  # noqa: S101 - for the type checker
        return user

    @property
    def request_id(self) -> str:
        """The id under which logs and audit rows know this request."""
        return getattr(self.request, "request_id", "")

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        """Who asks comes first, then whether the question makes sense."""
        super().initial(request, *args, **kwargs)
        known = self.known_parameters(request)
        faults = {}
        for name, value in request.query_params.items():
            if name not in known:
                faults[name] = _none_such(sorted(known))
            elif "\0" in value:
                faults[name] = _("Holds a NUL; remove it.")
        if faults:
            raise ValidationError({name: [fault] for name, fault in faults.items()})
        name = (request.method or "").lower()
        if name in self.http_method_names and hasattr(self, name):
            # The framework takes the handler from here: it is called with what all resources have in common.
            answer = self._read if request.method in READING else self._write
            setattr(self, name, partial(answer, getattr(self, name)))

    def _read(
        self, handler: Callable[..., Response], request: Request, *args: Any, **kwargs: Any
    ) -> Response:
        """Without the handler when the asker has what it would answer."""
        tag = self.weak_tag()
        if tag and is_one_of(tag, request.headers.get("If-None-Match", "")):
            return Response(status=304, headers={"ETag": tag})
        return handler(request, *args, **kwargs)

    def _write(
        self, handler: Callable[..., Response], request: Request, *args: Any, **kwargs: Any
    ) -> Response:
        """Once for each idempotency key, and only to what the asker has read."""
        person = request.user
        if not isinstance(
            person, User
        ):  # signing in, and a job with its own token: the same again changes nothing
            return handler(request, *args, **kwargs)
        if self.saves_nothing:
            return handler(request, *args, **kwargs)
        if seconds := wait_for_allowance(request._request, person):  # noqa: SLF001 - Django's own has the address
            raise SpentAllowanceError(seconds)
        if (answer := first_answer(request, person)) is not None:
            return answer
        self.check_preconditions(request)
        write = partial(handler, request, *args, **kwargs)
        return once(request, person, write, checks_first=self.checks_first)

    def known_parameters(self, request: Request) -> frozenset[str]:
        """All query parameters that mean something to this request."""
        return self.parameters

    def finalize_response(self, request: Request, response: Any, *args: Any, **kwargs: Any) -> Any:
        """What one account may see is for no shared cache."""
        final = super().finalize_response(request, response, *args, **kwargs)
        patch_cache_control(final, private=True, no_store=True)
        return final


class ApiList(mixins.ListModelMixin, ApiView):
    """A list in pages, with filters."""

    filterset_class: ClassVar[type[FilterSet] | None] = None

    def known_parameters(self, request: Request) -> frozenset[str]:
        """Filters and pages; only reading takes them."""
        if request.method not in {"GET", "HEAD"}:
            return self.parameters
        filters = frozenset(self.filterset_class.base_filters) if self.filterset_class else frozenset()
        return self.parameters | filters | {"limit", "offset"}

    def get(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        """One page of the list."""
        return self.list(request, *args, **kwargs)


class ApiDetail(mixins.RetrieveModelMixin, ApiView):
    """One object."""

    def get(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        """The object, or 404 when it is not there for this account."""
        return self.retrieve(request, *args, **kwargs)


@extend_schema(exclude=True)
class NoSuchAddress(APIView):
    """Everything else under /api/v1/: an API answers in JSON, also about what it does not have."""

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        """404 whatever the method, once it is known who asks."""
        super().initial(request, *args, **kwargs)
        raise Http404


def _none_such(known: list[str]) -> str:
    """That an address has no such parameter."""
    if not known:
        return _("No such query parameter here; there are none.")
    return _("No such query parameter here; there are: %(names)s.") % {"names": in_a_row(known)}
