from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("accounts", "0002_api_tokens_sessions_identities")]

    operations = [
        migrations.AddField(
            model_name="user",
            name="language",
            field=models.CharField(
                blank=True, default="", editable=False, max_length=10, verbose_name="language"
            ),
            preserve_default=False,
        ),
    ]
