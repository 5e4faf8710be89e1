"""One's own account: who I am here and what I may do; ending one's sessions."""

from typing import Any, ClassVar

from django.contrib.auth import authenticate, update_session_auth_hash
from django.core.exceptions import ValidationError as DjangoValidationError
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from drf_spectacular.utils import extend_schema
from rest_framework import serializers, status
from rest_framework.exceptions import PermissionDenied, ValidationError
from rest_framework.request import Request
from rest_framework.response import Response

from console.accounts.login_lockout import locked_for
from console.accounts.models import User
from console.accounts.permissions import Permission
from console.accounts.services import account_data, change_account, end_sessions
from console.api.base import ApiDetail, ApiView
from console.api.errors import LockedOutError
from console.api.strict import valid
from console.partitions.models import PartitionAdmin
from console.projects.models import MemberRole, Membership

WRONG = gettext_lazy("This is not the password of this account.")


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


class SessionsView(ApiView):
    """The account's sessions in browsers."""

    queryset = User.objects.all()
    serializer_class = AccountSerializer

    @extend_schema(request=None, responses={204: None})
    def delete(self, request: Request) -> Response:
        """Sign the account out of every browser. Its API tokens stay."""
        end_sessions(actor=self.person.username, user=self.person, request_id=self.request_id)
        return Response(status=status.HTTP_204_NO_CONTENT)


class PasswordSerializer(serializers.Serializer):
    """The password that one has, and the one that one wants."""

    old_password = serializers.CharField(max_length=4096, trim_whitespace=False, write_only=True)
    new_password = serializers.CharField(max_length=4096, trim_whitespace=False, write_only=True)


class PasswordView(ApiView):
    """One's own password."""

    queryset = User.objects.all()
    serializer_class = PasswordSerializer
    further_errors: ClassVar = {"PUT": {403, 429, 503}}

    @extend_schema(request=PasswordSerializer, responses={204: None}, operation_id="account_password_set")
    def put(self, request: Request) -> Response:
        """Change it; other sessions of the account end. A wrong old password counts as a guess at the sign-in."""
        sent = PasswordSerializer(data=request.data)
        valid(sent, self.serializer_class)
        user, asked = self.person, request._request  # noqa: SLF001 - axes marks Django's own request
        if not user.has_usable_password():
            raise PermissionDenied(_("This account has no password here: it signs in elsewhere."))
        self._require_own(asked, sent.validated_data["old_password"])
        try:
            change_account(
                actor=user.username,
                user=user,
                data=account_data(user),
                password=sent.validated_data["new_password"],
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
