"""Names in addresses: anything a name of Slurm's may hold, without what a database refuses to look up."""

from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from datetime import UTC
from functools import cached_property, partial
from typing import Any, ClassVar

from django.contrib.auth.decorators import login_required
from django.core.exceptions import ValidationError as DjangoValidationError
from django.db.models import QuerySet
from django.http import Http404
from django.shortcuts import get_object_or_404
from django.urls import register_converter
from django.urls.converters import StringConverter
from django.utils.cache import patch_cache_control
from django.utils.decorators import method_decorator
from django.utils.translation import get_language
from django.utils.translation import gettext as _
from django_filters.rest_framework import FilterSet
from drf_spectacular.renderers import OpenApiJsonRenderer, OpenApiJsonRenderer2, OpenApiYamlRenderer2
from drf_spectacular.utils import extend_schema
from drf_spectacular.views import SpectacularAPIView, SpectacularSwaggerSplitView
from rest_framework import generics, mixins, serializers
from rest_framework.exceptions import ValidationError
from rest_framework.permissions import BasePermission, IsAuthenticated
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView
from rest_framework.viewsets import ViewSetMixin

from console.accounts.access import require_read
from console.accounts.models import User
from console.accounts.permissions import Permission
from console.accounts.too_many_requests import wait_for_allowance
from console.api.errors import ConflictError, SpentAllowanceError
from console.api.parsers import valid
from console.api.repeats import READING, Validated, claimed, first_answer, is_one_of, once
from console.cluster.models import Cluster, Job
from console.cluster.selectors import shown_cluster
from console.core.concurrent_changes import ChangedSinceError
from console.core.l10n_format import in_a_row, is_english
from console.core.translate import resay
from console.partitions.models import Partition
from console.partitions.selectors import visible_partitions
from scheduler.contracts.errors import InputError


class NameConverter(StringConverter):
    """A job id, a partition, a node or a project's code: no slash, no control characters."""

    regex = r"[^/\x00-\x1f\x7f]+"


def register() -> None:
    """Make `<name:…>` known to Django's addresses."""
    register_converter(NameConverter, "name")


# --- What all resources share: who may read, which query parameters exist, where a change comes from.

# Moments are told in UTC, wherever this machine is (docs/api.md); by itself each field takes TIME_ZONE.
serializers.DateTimeField.timezone = UTC


PAGES = frozenset({"limit", "offset"})


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
    queryset: QuerySet[Any] = Cluster.objects.none()
    """Of a view that finds what it answers by itself; the OpenAPI document looks for one."""
    body_limit: ClassVar[str] = "body"
    saves_nothing: ClassVar[bool] = False
    """Whether a write is a question: it is answered outside any transaction, for it may take seconds."""
    checks_first: ClassVar[bool] = False
    """Whether a write changes things within `changing` alone, and checks what was sent before."""
    parameters: ClassVar[frozenset[str]] = frozenset()
    ending: ClassVar[frozenset[str]] = frozenset()
    """Query parameters of DELETE, which has no body."""
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

    @property
    def by(self) -> dict[str, Any]:
        """Who changes something, and in which request, as the services take it."""
        return {"actor": self.person.username, "request_id": self.request_id}

    def sent(
        self, form: type[serializers.Serializer], read: type[Any] | None = None, *, query: bool = False
    ) -> dict[str, Any]:
        """The body, or the `query` of what has none, once it is valid (`parsers.valid`, with what is `read` here)."""
        body = form(data=self.request.query_params if query else self.request.data)
        valid(body, read or self.serializer_class)
        return dict(body.validated_data)

    def partitions(self, **only: object) -> QuerySet[Partition]:
        """The partitions that this account may see."""
        return visible_partitions(self.person).filter(cluster=self.cluster, **only)

    def partition_shown(self, **only: object) -> Partition:
        """The partition that the address names, if this account may see it."""
        return get_object_or_404(self.partitions(**only), name=self.kwargs["name"])

    def visible_jobs(self, **only: object) -> QuerySet[Job]:
        """The jobs of these partitions."""
        names = list(self.partitions().values_list("name", flat=True))
        return Job.objects.filter(cluster=self.cluster, partition__in=names, **only)

    def choice_asked(self, name: str, choices: Collection[str], usual: str) -> str:
        """A query parameter that takes one of some words."""
        asked: str = self.request.query_params.get(name, usual)
        if asked not in choices:
            raise ValidationError({name: [_("Must be one of %(words)s.") % {"words": in_a_row(choices)}]})
        return asked

    def paged(self, rows: Any) -> Response:
        """One page of rows."""
        page = self.paginate_queryset(rows)
        return self.get_paginated_response(self.get_serializer(page, many=True).data)

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
        return self.ending if request.method == "DELETE" else self.parameters

    def finalize_response(self, request: Request, response: Any, *args: Any, **kwargs: Any) -> Any:
        """What one account may see is for no shared cache."""
        final = super().finalize_response(request, response, *args, **kwargs)
        patch_cache_control(final, private=True, no_store=True)
        return final


def list_parameters(view: Any) -> frozenset[str]:
    """Filters and pages."""
    return PAGES | frozenset(view.filterset_class.base_filters if view.filterset_class else ())


class ApiList(mixins.ListModelMixin, ApiView):
    """A list in pages, with filters."""

    filterset_class: ClassVar[type[FilterSet] | None] = None

    def known_parameters(self, request: Request) -> frozenset[str]:
        """Filters and pages; only reading takes them."""
        known = super().known_parameters(request)
        return known | list_parameters(self) if request.method in READING else known

    def get(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        """One page of the list."""
        return self.list(request, *args, **kwargs)


class ApiDetail(mixins.RetrieveModelMixin, ApiView):
    """One object."""

    def get(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        """The object, or 404 when it is not there for this account."""
        return self.retrieve(request, *args, **kwargs)


class ApiViewSet(ViewSetMixin, mixins.ListModelMixin, mixins.RetrieveModelMixin, ApiView):
    """A list, its objects, and what is done with one, at the addresses that the router gives them.

    `of_list` are query parameters of the list besides its filters, `parameters` those of one object. In the OpenAPI
    document the docstring says what the list is, `one` what one of its objects is; `whole` is the serializer of one
    where it shows more than the list does.
    """

    lookup_value_converter = "int"
    filterset_class: ClassVar[type[FilterSet] | None] = None
    of_list: ClassVar[frozenset[str]] = frozenset()
    one: ClassVar[str] = ""
    whole: ClassVar[type[serializers.Serializer] | None] = None

    def get_serializer_class(self) -> Any:
        """What this action answers with."""
        return self.whole if self.whole and self.action != "list" else self.serializer_class

    def filter_queryset(self, queryset: Any) -> Any:
        """Only the list is filtered."""
        return super().filter_queryset(queryset) if self.action == "list" else queryset

    def known_parameters(self, request: Request) -> frozenset[str]:
        """Filters and pages of the list."""
        known = super().known_parameters(request)
        return list_parameters(self) | self.of_list if self.action == "list" else known


@extend_schema(exclude=True)
class NoSuchAddress(APIView):
    """Everything else under /api/v1/: an API answers in JSON, also about what it does not have."""

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        """404 whatever the method, once it is known who asks."""
        super().initial(request, *args, **kwargs)
        raise Http404


class SchemaView(Validated, SpectacularAPIView):
    """The OpenAPI document, for signed-in people: JSON, or YAML by `?format=yaml`."""

    renderer_classes: ClassVar[Any] = [OpenApiJsonRenderer2, OpenApiJsonRenderer, OpenApiYamlRenderer2]

    permission_classes: ClassVar[Any] = [IsAuthenticated]


@method_decorator(login_required, name="dispatch")
class DocsView(SpectacularSwaggerSplitView):
    """Swagger UI from our own static files; who is not signed in is sent to the login page.

    The split view and our own template have no inline script and no inline style, so the page lives with the
    console's strict content security policy.
    """

    permission_classes: ClassVar[Any] = [IsAuthenticated]
    url_name = "api-schema"
    template_name = "api/docs.html"


def _none_such(known: list[str]) -> str:
    """That an address has no such parameter."""
    if not known:
        return _("No such query parameter here; there are none.")
    return _("No such query parameter here; there are: %(names)s.") % {"names": in_a_row(known)}


# --- The services' own errors as the API tells them.

REASON = "reason"


@contextmanager
def changing(inside: str = "") -> Iterator[None]:
    """Call services in this, as `reading` has it. An `Idempotency-Key` begins its transaction here."""
    with reading(inside):
        claimed()
        yield


@contextmanager
def reading(inside: str = "") -> Iterator[None]:
    """Read contracts in this: errors become the API's, with fields named as in the body.

    `inside` is the key of the body under which the service's own fields stand; the reason is always beside it.
    """
    try:
        yield
    except ChangedSinceError as error:
        raise ConflictError(str(error)) from error
    except InputError as error:
        raise ValidationError({inside + error.path.removeprefix("$"): [resay(error.message)]}) from error
    except DjangoValidationError as error:
        detail: dict[str, Any] = serializers.as_serializer_error(error)
        beside = {REASON: detail.pop(REASON)} if REASON in detail else {}
        raise ValidationError(({inside: detail} if inside and detail else detail) | beside) from error
