"""What is ours in the log, and what checks of it find, as sentences with codes and parameters."""

from django.db import migrations, models

from console.core.sentence_field import SentencesField


class Migration(migrations.Migration):
    """One empty column: rows of before are what they were, and so are their hashes."""

    dependencies = [("audit", "0003_find_rows_and_keep_checks")]

    operations = [
        migrations.AddField("auditentry", "said", models.JSONField(null=True)),
        migrations.AlterField("chaincheck", "faults", SentencesField(default=list)),
        migrations.AlterField("chaincheck", "notes", SentencesField(default=list)),
    ]
