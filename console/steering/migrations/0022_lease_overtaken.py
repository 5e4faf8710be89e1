from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("steering", "0021_submissions_of_plans"),
    ]

    operations = [
        migrations.AddField(
            model_name="cyclelease",
            name="overtaken_at",
            field=models.DateTimeField(null=True),
        ),
    ]
