"""One's own account: who I am here and what I may do; ending one's sessions."""

from dataclasses import replace
from typing import Any, ClassVar

from django.contrib.auth import authenticate, update_session_auth_hash
from django.core.exceptions import ValidationError as DjangoValidationError
from django.db.models import QuerySet
from django.http import HttpRequest
from django.shortcuts import get_object_or_404
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers, status
from rest_framework.decorators import action
from rest_framework.exceptions import PermissionDenied, ValidationError
from rest_framework.parsers import FormParser, MultiPartParser
from rest_framework.permissions import AllowAny
from rest_framework.request import Request
from rest_framework.response import Response

from console.accounts import tokens
from console.accounts.access import require_write
from console.accounts.login_lockout import locked_for
from console.accounts.models import ApiToken, Role, Scope, User
from console.accounts.permissions import Permission
from console.accounts.services import account_data, change_account, end_sessions
from console.api.authentication import AddressThrottle, obtain_token
from console.api.base import ApiDetail, ApiView, ApiViewSet, changing
from console.api.errors import LockedOutError
from console.api.fields import NamesField, ReasonSerializer, ReasonSerializerField, RowSerializer
from console.api.parsers import BoundedJSONParser
from console.partitions.models import PartitionAdmin
from console.people.selectors import accounts, as_people
from console.projects.models import MemberRole, Membership

WRONG = gettext_lazy("This is not the password of this account.")


class AccountSerializer(RowSerializer):
    """`permissions` are those that this account has on anything at all; most are on single objects."""

    cluster_user = serializers.CharField(source="slurm_user", read_only=True)
    permissions = serializers.SerializerMethodField()
    administers = serializers.SerializerMethodField()
    manages = serializers.SerializerMethodField()

    class Meta:
        model = User
        fields: ClassVar = [
            "username", "email", "role", "cluster_user", "permissions", "administers", "manages",
        ]  # fmt: skip

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

    serializer_class = AccountSerializer

    def get_object(self) -> User:
        """Oneself, never another."""
        return self.person


class SessionsView(ApiView):
    """The account's sessions in browsers."""

    serializer_class = AccountSerializer

    @extend_schema(request=None, responses={204: None})
    def delete(self, request: Request) -> Response:
        """Sign the account out of every browser. Its API tokens stay."""
        end_sessions(user=self.person, **self.by)
        return Response(status=status.HTTP_204_NO_CONTENT)


class PasswordSerializer(serializers.Serializer):
    """The password that one has, and the one that one wants."""

    old_password = serializers.CharField(max_length=4096, trim_whitespace=False, write_only=True)
    new_password = serializers.CharField(max_length=4096, trim_whitespace=False, write_only=True)


class PasswordView(ApiView):
    """One's own password."""

    serializer_class = PasswordSerializer

    @extend_schema(operation_id="account_password_set", request=PasswordSerializer, responses={204: None})
    def put(self, request: Request) -> Response:
        """Change it; other sessions of the account end. A wrong old password counts as a guess at the sign-in."""
        sent = self.sent(PasswordSerializer)
        user, asked = self.person, request._request  # noqa: SLF001 - axes marks Django's own request
        if not user.has_usable_password():
            raise PermissionDenied(_("This account has no password here: it signs in elsewhere."))
        self._require_own(asked, sent["old_password"])
        try:
            change_account(
                actor=user.username,
                user=user,
                data=account_data(user),
                password=sent["new_password"],
                request_id=self.request_id,
            )
        except DjangoValidationError as error:
            raise ValidationError({"new_password": error.message_dict["password"]}) from None
        if request.auth is None:
            user.refresh_from_db(fields=["password"])
            update_session_auth_hash(asked, user)
        return Response(status=status.HTTP_204_NO_CONTENT)

    def _require_own(self, asked: HttpRequest, password: str) -> None:
        """Whoever has found a token or a session must not get the account for it, nor try passwords without end."""
        found = authenticate(asked, username=self.person.username, password=password)
        if getattr(asked, "axes_locked_out", False):
            asked.axes_locked_out = False  # type: ignore[attr-defined]
            raise LockedOutError(locked_for(asked, {"username": self.person.username}))
        if found is None or found.pk != self.person.pk:
            raise ValidationError({"old_password": [WRONG]})


# --- One's own API tokens: the one that a script gets for a password, and all of them by name.

NO_OFFSPRING = gettext_lazy(
    "A token makes no tokens. Send name and password to token/, or use a browser's session."
)


class ScopeField(serializers.ChoiceField):
    """`read`, `write` or `checkpoints`."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(choices=Scope.choices, default=Scope.WRITE, **kwargs)


class WantedSerializer(serializers.Serializer):
    """What the token is to be."""

    name = serializers.CharField(max_length=60, help_text="What uses it; each name once.")
    scope = ScopeField(help_text="What it may do, within what the account may.")
    days = serializers.IntegerField(
        min_value=1,
        max_value=tokens.MOST_DAYS,
        default=tokens.USUAL_DAYS,
        help_text="After so many days it ends.",
    )


class CredentialsSerializer(WantedSerializer):
    """Name and password, as on the login page; and, if one likes, what the token is to be."""

    username = serializers.CharField(max_length=150)
    password = serializers.CharField(max_length=4096, trim_whitespace=False, write_only=True)
    name = serializers.CharField(max_length=60, required=False, default="")


class TokenSerializer(RowSerializer):
    """A token, without what makes it one."""

    created = serializers.DateTimeField(source="created_at", read_only=True)

    class Meta:
        model = ApiToken
        fields: ClassVar = ["id", "name", "scope", "created", "ends_at", "used_at"]


class NewTokenSerializer(TokenSerializer):
    """Send it as `Authorization: Token <token>`. It is shown this once."""

    token = serializers.CharField(read_only=True)

    class Meta(TokenSerializer.Meta):
        fields: ClassVar = ["token", *TokenSerializer.Meta.fields]


def _shown_once(made: tuple[ApiToken, str]) -> dict[str, Any]:
    row, secret = made
    return {"token": secret, **TokenSerializer(row).data}


class TokenView(ApiView):
    """Signing in with name and password, and out again."""

    serializer_class = NewTokenSerializer
    parser_classes: ClassVar[Any] = [BoundedJSONParser, FormParser, MultiPartParser]
    throttle_scope = "token"
    open_methods: ClassVar = frozenset({"POST"})
    further_errors: ClassVar = {"POST": {403, 429}}

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
        return [AddressThrottle()] if self._is_open() else []

    @extend_schema(request=CredentialsSerializer, responses={200: NewTokenSerializer}, auth=[])
    def post(self, request: Request) -> Response:
        """Name and password in, a new token out. A wrong pair is 400, too many are 429."""
        wanted = self.sent(CredentialsSerializer)
        pair = {key: wanted.pop(key) for key in ("username", "password")}
        asked = request._request  # noqa: SLF001 - axes marks Django's own request
        return Response(_shown_once(obtain_token(asked, data=tokens.TokenData(**wanted), **pair)))

    @extend_schema(request=None, responses={204: None})
    def delete(self, request: Request) -> Response:
        """Revoke the token that is sent, at once. With a browser's session: all of the account's tokens."""
        if isinstance(request.auth, ApiToken):
            tokens.revoke_token(request.auth, **self.by)
        else:
            tokens.revoke_all_tokens(self.person, **self.by)
        return Response(status=status.HTTP_204_NO_CONTENT)


class OwnTokens(ApiViewSet):
    """One's own tokens."""

    one = "One of one's own tokens."
    queryset = ApiToken.objects.all()
    serializer_class = TokenSerializer

    def get_queryset(self) -> QuerySet[ApiToken]:
        """Another's is not there. While the OpenAPI document is made there is nobody."""
        if getattr(self, "swagger_fake_view", False):
            return ApiToken.objects.none()
        return ApiToken.objects.filter(user=self.person)

    @extend_schema(request=WantedSerializer, responses={201: NewTokenSerializer})
    def create(self, request: Request) -> Response:
        """Make a token. Needs a browser's session: a token makes no tokens."""
        if request.auth is not None:
            raise PermissionDenied(NO_OFFSPRING)
        data = tokens.TokenData(**self.sent(WantedSerializer))
        made = tokens.make_token(self.person, data, **self.by)
        return Response(_shown_once(made), status=status.HTTP_201_CREATED)

    @extend_schema(request=None, responses={204: None})
    def destroy(self, request: Request, pk: int) -> Response:
        """Revoke it; nothing that carries it is let in any more."""
        tokens.revoke_token(self.get_object(), **self.by)
        return Response(status=status.HTTP_204_NO_CONTENT)


# --- The accounts of others: who may read everything sees them, administrators change them.

NO_PROMOTION = "A token promotes nobody: whoever finds one must not become an administrator. Use the page."


class PersonSerializer(serializers.Serializer):
    """An account. `cluster_user`: empty when it is the same as here."""

    username = serializers.CharField(source="user.username")
    role = serializers.ChoiceField(choices=Role.choices, source="user.role")
    active = serializers.BooleanField(source="user.is_active")
    email = serializers.CharField(source="user.email", allow_blank=True)
    cluster_user = serializers.CharField(source="user.cluster_user", allow_blank=True)
    last_sign_in = serializers.DateTimeField(source="user.last_login", allow_null=True)
    signs_in = serializers.ChoiceField(
        choices=["password", "elsewhere", "nowhere"], help_text="elsewhere: a provider or a directory."
    )
    administers = NamesField(help_text="Partitions.")
    manages = NamesField(help_text="Projects.")
    tokens = TokenSerializer(many=True, help_text="Those that have not ended.")


class AccountChangeSerializer(serializers.Serializer):
    """What is to be set; the rest stays."""

    role = serializers.ChoiceField(choices=Role.choices, required=False)
    active = serializers.BooleanField(required=False)
    email = serializers.EmailField(required=False, allow_blank=True)
    cluster_user = serializers.CharField(required=False, allow_blank=True, max_length=64)
    reason = ReasonSerializerField()


class People(ApiViewSet):
    """Everybody with an account."""

    one = "One account."
    permission = Permission.PEOPLE_VIEW
    queryset = User.objects.order_by("username")
    serializer_class = PersonSerializer
    lookup_field = "username"
    lookup_value_converter = "name"
    of_list = frozenset({"q", "role", "state"})
    ending = frozenset({"reason"})

    @extend_schema(
        parameters=[
            OpenApiParameter("q", str, description="In the name, the e-mail address or the user name on the cluster."),
            OpenApiParameter("role", str, enum=list(Role.values)),
            OpenApiParameter("state", str, enum=["on", "off"], description="off: switched off."),
        ]
    )  # fmt: skip
    def list(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        """One page, by name."""
        asked = request.query_params
        found = accounts(asked.get("q", ""), asked.get("role", ""), asked.get("state", ""))
        page = as_people(self.cluster, self.paginate_queryset(found) or ())
        return self.get_paginated_response(self.get_serializer(page, many=True).data)

    def retrieve(self, request: Request, username: str, **_: Any) -> Response:
        """What it may do and where, and its tokens."""
        return self._answer(self.get_object())

    @extend_schema(request=AccountChangeSerializer, responses=PersonSerializer)
    def partial_update(self, request: Request, username: str) -> Response:
        """Change it. Switching it off ends its sessions. With a token nobody's role rises."""
        user = self._account()
        values = self.sent(AccountChangeSerializer, AccountChangeSerializer)
        reason = values.pop("reason")
        before = account_data(user)
        if request.auth is not None and values.get("role", before.role) not in (before.role, Role.VIEWER):
            raise PermissionDenied(NO_PROMOTION)
        with changing():
            user = change_account(user=user, data=replace(before, **values), reason=reason, **self.by)
        return self._answer(user)

    @extend_schema(request=None, parameters=[ReasonSerializer], responses={204: None})
    @action(detail=True, methods=["delete"])
    def sessions(self, request: Request, username: str) -> Response:
        """Sign the account out of every browser. Its API tokens stay."""
        end_sessions(user=self._account(), **self._with_reason())
        return Response(status=status.HTTP_204_NO_CONTENT)

    @extend_schema(request=None, parameters=[ReasonSerializer], responses={204: None})
    @action(detail=True, methods=["delete"], url_path="tokens/<int:pk>")
    def token(self, request: Request, username: str, pk: int) -> Response:
        """Take it back."""
        token = get_object_or_404(ApiToken, user=self._account(), pk=pk)
        tokens.revoke_token(token, **self._with_reason())
        return Response(status=status.HTTP_204_NO_CONTENT)

    def _account(self) -> User:
        """The account that the address names: 404 when there is none; 403 for who may not change it."""
        user = self.get_object()
        require_write(self.request, Permission.PEOPLE_CHANGE)
        return user

    def _with_reason(self) -> dict[str, str]:
        return {**self.sent(ReasonSerializer, ReasonSerializer, query=True), **self.by}

    def _answer(self, user: User) -> Response:
        """The account as it is now."""
        (found,) = as_people(self.cluster, [user])
        return Response(PersonSerializer(found).data)
