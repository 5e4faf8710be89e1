"""Several tokens per account, hashed, with scope and end date; ending all sessions; who one is at an identity provider."""

import hashlib
from datetime import UTC, datetime

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models

OLD = "authtoken_token"
"""The REST framework's table: one token per account, in plain text. Its app is no longer installed."""


def take_over(apps, schema_editor):
    """What was given out goes on working, without an end; the plain texts go."""
    connection = schema_editor.connection
    if OLD not in connection.introspection.table_names():
        return
    token = apps.get_model("accounts", "ApiToken")
    with connection.cursor() as cursor:
        cursor.execute("SELECT key, user_id, created FROM authtoken_token")
        rows = cursor.fetchall()
    for key, user_id, created in rows:
        token.objects.create(
            user_id=user_id,
            name="from before",
            scope="write",
            digest=hashlib.sha256(key.encode()).hexdigest(),
            created_at=_moment(created),
        )
    schema_editor.execute("DROP TABLE authtoken_token")


def _moment(value):
    """SQLite keeps a text without a zone, in UTC."""
    moment = datetime.fromisoformat(value) if isinstance(value, str) else value
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


class Migration(migrations.Migration):
    dependencies = [("accounts", "0001_initial")]

    operations = [
        migrations.AddField(
            model_name="user",
            name="session_generation",
            field=models.PositiveIntegerField(default=0, editable=False),
        ),
        migrations.CreateModel(
            name="ApiToken",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("name", models.CharField(max_length=60)),
                (
                    "scope",
                    models.CharField(
                        choices=[
                            ("read", "Read"),
                            ("write", "Read and change"),
                            ("checkpoints", "Acknowledge checkpoints only"),
                        ],
                        max_length=12,
                    ),
                ),
                ("digest", models.CharField(editable=False, max_length=64, unique=True)),
                ("by_password", models.BooleanField(default=False)),
                ("created_at", models.DateTimeField()),
                ("ends_at", models.DateTimeField(null=True)),
                ("used_at", models.DateTimeField(null=True)),
                (
                    "user",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="api_tokens",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
            options={
                "ordering": ["-created_at", "-pk"],
                "constraints": [
                    models.UniqueConstraint(fields=("user", "name"), name="accounts_token_name_once"),
                    models.CheckConstraint(
                        condition=models.Q(("scope__in", ["read", "write", "checkpoints"])),
                        name="accounts_token_scope_known",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="Identity",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("issuer", models.CharField(max_length=255)),
                ("subject", models.CharField(max_length=255)),
                ("linked_at", models.DateTimeField()),
                (
                    "user",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="identities",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(fields=("issuer", "subject"), name="accounts_identity_once")
                ],
            },
        ),
        migrations.RunPython(take_over, migrations.RunPython.noop),
    ]
