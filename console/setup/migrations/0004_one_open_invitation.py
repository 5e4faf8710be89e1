"""A name has one open invitation: of several, the newest stays, and answers for what came with the others."""

from typing import Any

from django.db import migrations, models
from django.db.models.functions import Lower
from django.utils import timezone


def keep_the_newest(apps: Any, schema_editor: Any) -> None:
    """What the others brought is taken back with the one that stays, should it not be used."""
    newest: dict[str, Any] = {}
    rows = apps.get_model("setup", "Invitation").objects
    for row in rows.filter(used_at=None, withdrawn_at=None, taken_back_at=None).order_by(
        "-created_at", "-pk"
    ):
        kept = newest.setdefault(row.username.lower(), row)
        if kept is row:
            continue
        kept.partitions += [each for each in row.partitions if each not in kept.partitions]
        kept.projects += [each for each in row.projects if each not in kept.projects]
        kept.save(update_fields=["partitions", "projects"])
        row.withdrawn_at = row.taken_back_at = timezone.now()
        row.save(update_fields=["withdrawn_at", "taken_back_at"])


class Migration(migrations.Migration):
    """The rows, then the constraint."""

    dependencies = [("setup", "0003_what_came_with_an_invitation")]

    operations = [
        migrations.RunPython(keep_the_newest, migrations.RunPython.noop),
        migrations.AddConstraint(
            model_name="invitation",
            constraint=models.UniqueConstraint(
                Lower("username"),
                condition=models.Q(("taken_back_at", None), ("used_at", None), ("withdrawn_at", None)),
                name="setup_one_open_invitation",
            ),
        ),
    ]
