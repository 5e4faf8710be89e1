"""Guard the log by triggers, and let its head know the last anchor."""

from django.db import migrations, models

from console.audit import triggers


def install(apps, schema_editor):
    triggers.install(schema_editor.connection)


def remove(apps, schema_editor):
    triggers.remove(schema_editor.connection)


class Migration(migrations.Migration):
    dependencies = [("audit", "0001_initial")]

    operations = [
        migrations.AddField("audithead", "anchored", models.PositiveBigIntegerField(default=0)),
        migrations.RunPython(install, remove),
    ]
