"""One's own API tokens: the one that a script gets for a password, and all of them by name."""

from typing import Any, ClassVar

from django.core.exceptions import ValidationError as DjangoValidationError
from django.db.models import QuerySet
from django.utils.translation import gettext_lazy
from drf_spectacular.utils import extend_schema
from rest_framework import serializers, status
from rest_framework.exceptions import PermissionDenied, ValidationError
from rest_framework.parsers import FormParser, MultiPartParser
from rest_framework.permissions import AllowAny
from rest_framework.request import Request
from rest_framework.response import Response

from console.accounts.models import ApiToken, Scope
from console.accounts.tokens import (
    MOST_DAYS,
    USUAL_DAYS,
    TokenData,
    make_token,
    revoke_all_tokens,
    revoke_token,
)
from console.api.base import ApiDetail, ApiList, ApiView
from console.api.parsers import BoundedJSONParser
from console.api.strict import valid
from console.api.throttles import AddressThrottle
from console.api.tokens import obtain_token

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
        min_value=1, max_value=MOST_DAYS, default=USUAL_DAYS, help_text="After so many days it ends."
    )


class CredentialsSerializer(WantedSerializer):
    """Name and password, as on the login page; and, if one likes, what the token is to be."""

    username = serializers.CharField(max_length=150)
    password = serializers.CharField(max_length=4096, trim_whitespace=False, write_only=True)
    name = serializers.CharField(max_length=60, required=False, default="")


class TokenSerializer(serializers.ModelSerializer):
    """A token, without what makes it one."""

    created = serializers.DateTimeField(source="created_at", read_only=True)

    class Meta:
        model = ApiToken
        fields: ClassVar = ["id", "name", "scope", "created", "ends_at", "used_at"]
        read_only_fields = fields


class NewTokenSerializer(TokenSerializer):
    """Send it as `Authorization: Token <token>`. It is shown this once."""

    token = serializers.CharField(read_only=True)

    class Meta(TokenSerializer.Meta):
        fields: ClassVar = ["token", *TokenSerializer.Meta.fields]
        read_only_fields = fields


def _shown_once(made: tuple[ApiToken, str]) -> dict[str, Any]:
    row, secret = made
    return {"token": secret, **TokenSerializer(row).data}


class TokenView(ApiView):
    """Signing in with name and password, and out again."""

    queryset = ApiToken.objects.all()
    serializer_class = NewTokenSerializer
    parser_classes: ClassVar[Any] = [BoundedJSONParser, FormParser, MultiPartParser]
    throttle_scope = "token"
    open_methods: ClassVar = frozenset({"POST"})
    further_errors: ClassVar = {"POST": {403, 429, 503}}

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
        sent = CredentialsSerializer(data=request.data)
        valid(sent, self.serializer_class)
        wanted = dict(sent.validated_data)
        pair = {key: wanted.pop(key) for key in ("username", "password")}
        asked = request._request  # noqa: SLF001 - axes marks Django's own request
        return Response(_shown_once(_made(lambda: obtain_token(asked, data=TokenData(**wanted), **pair))))

    @extend_schema(request=None, responses={204: None})
    def delete(self, request: Request) -> Response:
        """Revoke the token that is sent, at once. With a browser's session: all of the account's tokens."""
        facts = {"actor": self.person.username, "request_id": self.request_id}
        if isinstance(request.auth, ApiToken):
            revoke_token(request.auth, **facts)
        else:
            revoke_all_tokens(self.person, **facts)
        return Response(status=status.HTTP_204_NO_CONTENT)


class OwnTokens:
    """One's own, nobody else's: another's is not there."""

    queryset = ApiToken.objects.all()
    serializer_class = TokenSerializer
    filterset_class = None

    def get_queryset(self: Any) -> QuerySet[ApiToken]:
        """While the OpenAPI document is made there is nobody."""
        if getattr(self, "swagger_fake_view", False):
            return ApiToken.objects.none()
        return ApiToken.objects.filter(user=self.person)


class TokenList(OwnTokens, ApiList):
    """One's own tokens."""

    @extend_schema(request=WantedSerializer, responses={201: NewTokenSerializer})
    def post(self, request: Request) -> Response:
        """Make a token. Needs a browser's session: a token makes no tokens."""
        if request.auth is not None:
            raise PermissionDenied(NO_OFFSPRING)
        sent = WantedSerializer(data=request.data)
        valid(sent, self.serializer_class)
        data = TokenData(**sent.validated_data)
        actor = self.person.username
        made = _made(lambda: make_token(self.person, data, actor=actor, request_id=self.request_id))
        return Response(_shown_once(made), status=status.HTTP_201_CREATED)


class TokenDetail(OwnTokens, ApiDetail):
    """One of one's own tokens."""

    @extend_schema(request=None, responses={204: None})
    def delete(self, request: Request, pk: int) -> Response:
        """Revoke it; nothing that carries it is let in any more."""
        revoke_token(self.get_object(), actor=self.person.username, request_id=self.request_id)
        return Response(status=status.HTTP_204_NO_CONTENT)


def _made(make: Any) -> tuple[ApiToken, str]:
    """The service's faults under the fields that the request names."""
    try:
        made: tuple[ApiToken, str] = make()
    except DjangoValidationError as error:
        raise ValidationError(error.message_dict) from None
    return made
