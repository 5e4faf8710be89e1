"""One's own account: who I am here and what I may do; ending one's sessions."""

from typing import Any, ClassVar

from django.db.models import QuerySet
from drf_spectacular.utils import extend_schema
from rest_framework import serializers, status
from rest_framework.request import Request
from rest_framework.response import Response

from console.accounts.models import User
from console.accounts.permissions import Permission
from console.accounts.services import end_sessions
from console.api.base import ApiDetail, ApiView
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


class SessionsView(ApiView):
    """The account's sessions in browsers."""

    queryset = User.objects.all()
    serializer_class = AccountSerializer

    @extend_schema(request=None, responses={204: None})
    def delete(self, request: Request) -> Response:
        """Sign the account out of every browser. Its API tokens stay."""
        end_sessions(actor=self.person.username, user=self.person, request_id=self.request_id)
        return Response(status=status.HTTP_204_NO_CONTENT)
