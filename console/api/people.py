"""The accounts of others: who may read everything sees them, administrators change them."""

from typing import Any, ClassVar

from django.db.models import QuerySet
from django.shortcuts import get_object_or_404
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers, status
from rest_framework.exceptions import PermissionDenied
from rest_framework.request import Request
from rest_framework.response import Response

from console.accounts.access import require_write
from console.accounts.models import ApiToken, Role, User
from console.accounts.permissions import Permission
from console.accounts.services import AccountData, account_data, change_account, end_sessions
from console.accounts.tokens import revoke_token
from console.api.base import ApiDetail, ApiList, ApiView
from console.api.changes import ReasonSerializerField, changing
from console.api.own_tokens import TokenSerializer
from console.api.strict import valid
from console.people.selectors import accounts, as_people

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
    administers = serializers.ListField(child=serializers.CharField(), help_text="Partitions.")
    manages = serializers.ListField(child=serializers.CharField(), help_text="Projects.")
    tokens = TokenSerializer(many=True, help_text="Those that have not ended.")


class AccountChangeSerializer(serializers.Serializer):
    """What is to be set; the rest stays."""

    role = serializers.ChoiceField(choices=Role.choices, required=False)
    active = serializers.BooleanField(required=False)
    email = serializers.EmailField(required=False, allow_blank=True)
    cluster_user = serializers.CharField(required=False, allow_blank=True, max_length=64)
    reason = ReasonSerializerField()


class OnlyReasonSerializer(serializers.Serializer):
    """The query parameters of what ends something: it has no body."""

    reason = ReasonSerializerField()


class PersonList(ApiList):
    """Everybody with an account."""

    permission = Permission.PEOPLE_VIEW
    queryset = User.objects.order_by("username")
    serializer_class = PersonSerializer
    parameters: ClassVar = frozenset({"q", "role", "state"})

    @extend_schema(
        operation_id="people_list",
        parameters=[
            OpenApiParameter("q", str, description="In the name, the e-mail address or the user name on the cluster."),
            OpenApiParameter("role", str, enum=list(Role.values)),
            OpenApiParameter("state", str, enum=["on", "off"], description="off: switched off."),
        ]
    )  # fmt: skip
    def get(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        """One page, by name."""
        return self.list(request, *args, **kwargs)

    def get_queryset(self) -> QuerySet[User]:
        """Those that were asked for."""
        asked = self.request.query_params
        return accounts(asked.get("q", ""), asked.get("role", ""), asked.get("state", ""))

    def list(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        """The rows of one page, with what names them elsewhere."""
        page = self.paginate_queryset(self.get_queryset())
        return self.get_paginated_response(
            PersonSerializer(as_people(self.cluster, page or ()), many=True).data
        )


class OneAccount:
    """The account that the address names, for who may change it where it is to be changed."""

    permission = Permission.PEOPLE_VIEW
    queryset = User.objects.all()
    serializer_class = PersonSerializer

    def account(self: Any, username: str) -> User:
        """404 when there is none; 403 for who may not change it."""
        user = get_object_or_404(User, username=username)
        require_write(self.request, Permission.PEOPLE_CHANGE)
        return user

    def answer(self: Any, user: User) -> Response:
        """The account as it is now."""
        (found,) = as_people(self.cluster, [user])
        return Response(PersonSerializer(found).data)


class PersonDetail(OneAccount, ApiDetail):
    """One account."""

    def get(self, request: Request, username: str, **_: Any) -> Response:
        """What it may do and where, and its tokens."""
        return self.answer(get_object_or_404(User, username=username))

    @extend_schema(request=AccountChangeSerializer, responses=PersonSerializer)
    def patch(self, request: Request, username: str) -> Response:
        """Change it. Switching it off ends its sessions. With a token nobody's role rises."""
        user = self.account(username)
        sent = AccountChangeSerializer(data=request.data)
        valid(sent, AccountChangeSerializer)
        values: dict[str, Any] = dict(sent.validated_data)
        reason = values.pop("reason")
        before = account_data(user)
        if request.auth is not None and values.get("role", before.role) not in (before.role, Role.VIEWER):
            raise PermissionDenied(NO_PROMOTION)
        with changing():
            user = change_account(
                actor=self.person.username,
                user=user,
                data=AccountData(**{**_fields(before), **values}),
                reason=reason,
                request_id=self.request_id,
            )
        return self.answer(user)


def _fields(data: AccountData) -> dict[str, Any]:
    return {name: getattr(data, name) for name in AccountData.__slots__}


class AccountEnd(OneAccount, ApiView):
    """What ends something of an account, with the reason in the address."""

    def known_parameters(self, request: Request) -> frozenset[str]:
        """A reason; there is no body."""
        return frozenset({"reason"}) if request.method == "DELETE" else frozenset()

    def told(self) -> dict[str, str]:
        """Who does it, why, and in which request."""
        sent = OnlyReasonSerializer(data=self.request.query_params)
        valid(sent, OnlyReasonSerializer)
        return {
            "actor": self.person.username,
            "reason": sent.validated_data["reason"],
            "request_id": self.request_id,
        }


class PersonSessions(AccountEnd):
    """Somebody's sessions in browsers."""

    @extend_schema(request=None, parameters=[OnlyReasonSerializer], responses={204: None})
    def delete(self, request: Request, username: str) -> Response:
        """Sign the account out of every browser. Its API tokens stay."""
        end_sessions(user=self.account(username), **self.told())
        return Response(status=status.HTTP_204_NO_CONTENT)


class PersonToken(AccountEnd):
    """One of somebody's API tokens."""

    @extend_schema(request=None, parameters=[OnlyReasonSerializer], responses={204: None})
    def delete(self, request: Request, username: str, pk: int) -> Response:
        """Take it back."""
        token = get_object_or_404(ApiToken, user=self.account(username), pk=pk)
        revoke_token(token, **self.told())
        return Response(status=status.HTTP_204_NO_CONTENT)
