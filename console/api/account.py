"""One's own account: who I am here and what I may do; and the token that scripts sign in with."""

from typing import Any, ClassVar

from django.db.models import QuerySet
from drf_spectacular.utils import extend_schema
from rest_framework import serializers, status
from rest_framework.authtoken.models import Token
from rest_framework.parsers import FormParser, MultiPartParser
from rest_framework.permissions import AllowAny
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.throttling import ScopedRateThrottle

from console.accounts.models import User
from console.accounts.permissions import Permission
from console.accounts.tokens import revoke_token
from console.api.base import ApiDetail, ApiView
from console.api.parsers import BoundedJSONParser
from console.api.tokens import obtain_token
from console.partitions.models import PartitionAdmin
from console.projects.models import MemberRole, Membership


class AccountSerializer(serializers.ModelSerializer):
    """`permissions` are those that this account has on anything at all; most are on single objects."""

    cluster_user = serializers.CharField(source="slurm_user", read_only=True)
    permissions = serializers.SerializerMethodField()
    administers = serializers.SerializerMethodField()
    manages = serializers.SerializerMethodField()

    class Meta:
        model = User
        fields: ClassVar = [
            "username",
            "email",
            "role",
            "cluster_user",
            "permissions",
            "administers",
            "manages",
        ]
        read_only_fields = fields

    def get_permissions(self, user: User) -> list[str]:
        """Names of permissions."""
        return [permission.value for permission in Permission if user.has_perm(permission)]

    def get_administers(self, user: User) -> list[str]:
        """Partitions that name this account as administrator."""
        named = PartitionAdmin.objects.filter(username=user.username)
        return self._of_cluster(named, "partition", "name")

    def get_manages(self, user: User) -> list[str]:
        """Projects that name this account as manager."""
        named = Membership.objects.filter(username=user.username, role=MemberRole.MANAGER)
        return self._of_cluster(named, "project", "code")

    def _of_cluster(self, named: QuerySet[Any], what: str, label: str) -> list[str]:
        mine = named.filter(**{f"{what}__cluster": self.context["view"].cluster})
        return sorted(mine.values_list(f"{what}__{label}", flat=True))


class AccountView(ApiDetail):
    """The account that asks."""

    queryset = User.objects.all()
    serializer_class = AccountSerializer

    def get_object(self) -> User:
        """Oneself, never another."""
        return self.person


class CredentialsSerializer(serializers.Serializer):
    """Name and password, as on the login page."""

    username = serializers.CharField(max_length=150)
    password = serializers.CharField(max_length=4096, trim_whitespace=False, write_only=True)


class TokenSerializer(serializers.ModelSerializer):
    """Send it as `Authorization: Token <token>`."""

    token = serializers.CharField(source="key", read_only=True)

    class Meta:
        model = Token
        fields: ClassVar = ["token", "created"]
        read_only_fields = fields


class TokenView(ApiView):
    """The account's token. There is at most one; asking again returns it, revoking ends it at once."""

    queryset = Token.objects.all()
    serializer_class = TokenSerializer
    parser_classes: ClassVar[Any] = [BoundedJSONParser, FormParser, MultiPartParser]
    throttle_scope = "token"
    open_methods: ClassVar = frozenset({"POST"})
    further_errors: ClassVar = {"POST": {429}}

    def _is_open(self) -> bool:
        """Asking for a token is how scripts sign in. Without a request the OpenAPI document is being made."""
        asked: Any = self.request
        return asked is not None and asked.method in self.open_methods

    def get_permissions(self) -> Any:
        """Anybody may try a password."""
        return [AllowAny()] if self._is_open() else super().get_permissions()

    def get_authenticators(self) -> list[Any]:
        """Who asks for a token is known by the password alone, whatever session a browser may send along."""
        return [] if self._is_open() else super().get_authenticators()

    def get_throttles(self) -> list[Any]:
        """Guessing is slow: besides the lockout per name and address, so many tries per address."""
        return [ScopedRateThrottle()] if self._is_open() else []

    @extend_schema(request=CredentialsSerializer, responses={200: TokenSerializer}, auth=[])
    def post(self, request: Request) -> Response:
        """Name and password in, token out. A wrong pair is 400, too many are 429."""
        sent = CredentialsSerializer(data=request.data)
        sent.is_valid(raise_exception=True)
        token = obtain_token(request._request, **sent.validated_data)  # noqa: SLF001 - axes marks Django's own request
        return Response(self.get_serializer(token).data)

    @extend_schema(request=None, responses={204: None})
    def delete(self, request: Request) -> Response:
        """Revoke the token; nothing that carries it is let in any more."""
        revoke_token(self.person, actor=self.person.username, request_id=self.request_id)
        return Response(status=status.HTTP_204_NO_CONTENT)
