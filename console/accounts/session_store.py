"""Django's sessions in the database, under a hash of their key: whoever reads the table has nobody's session."""

import hashlib
from datetime import datetime
from typing import Any

from django.contrib.sessions.backends.db import SessionStore as DatabaseStore
from django.contrib.sessions.base_session import AbstractBaseSession
from django.utils import timezone

LENGTH = 40
"""As much as the column holds: 160 bits, of a key that has as many to guess."""


def kept_as(session_key: str) -> str:
    """What the table has of the key that the cookie has. Keys are random and long: no salt, no slow hash is needed."""
    return hashlib.sha256(session_key.encode()).hexdigest()[:LENGTH]


class SessionStore(DatabaseStore):
    """Django's own but for what a row is called; this side of it, `session_key` is the cookie's."""

    def exists(self, session_key: str) -> bool:
        """Whether there is a session of this key."""
        return super().exists(kept_as(session_key))

    async def aexists(self, session_key: str) -> bool:
        """The same, asynchronously."""
        return await super().aexists(kept_as(session_key))

    def create_model_instance(self, data: dict[str, Any]) -> AbstractBaseSession:
        """The row as it will be saved."""
        return self._hashed(super().create_model_instance(data))

    async def acreate_model_instance(self, data: dict[str, Any]) -> AbstractBaseSession:
        """The same, asynchronously."""
        return self._hashed(await super().acreate_model_instance(data))

    def delete(self, session_key: str | None = None) -> None:
        """Delete this session, or the one of the key."""
        key = session_key or self.session_key
        if key is not None:
            super().delete(kept_as(key))

    async def adelete(self, session_key: str | None = None) -> None:
        """The same, asynchronously."""
        key = session_key or self.session_key
        if key is not None:
            await super().adelete(kept_as(key))

    def _get_session_from_db(self) -> AbstractBaseSession | None:
        row = self.model.objects.filter(**self._mine()).first()
        return self._found(row)

    async def _aget_session_from_db(self) -> AbstractBaseSession | None:
        row = await self.model.objects.filter(**self._mine()).afirst()
        return self._found(row)

    def _mine(self) -> dict[str, str | datetime]:
        return {"session_key": kept_as(self.session_key or ""), "expire_date__gt": timezone.now()}

    def _found(self, row: AbstractBaseSession | None) -> AbstractBaseSession | None:
        if row is None:
            self._session_key = None  # as Django does: the next save makes a key of its own
        return row

    @staticmethod
    def _hashed(row: AbstractBaseSession) -> AbstractBaseSession:
        row.session_key = kept_as(row.session_key)
        return row
