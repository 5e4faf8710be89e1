"""What is wrong with a database that cannot be used, in one sentence for whoever is at the shell."""

from django.db import DatabaseError, connection
from django.db.migrations.executor import MigrationExecutor


def unusable(error: DatabaseError) -> str | None:
    """What to do about an error, when it comes from a database that is not there or not of this version.

    None when the database is as it should be: then the error is a defect, and has to be seen whole.
    """
    try:
        executor = MigrationExecutor(connection)
        missing = len(executor.migration_plan(executor.loader.graph.leaf_nodes()))
    except DatabaseError:
        why = str(error).strip().partition("\n")[0]
        return f"The database does not answer: {why}. Set DATABASE_URL or GIVEWAY_HOME to the console's."
    if not missing:
        return None
    return (
        f"The database {connection.settings_dict['NAME']} is not of this version: {missing} migrations are missing. "
        "Set GIVEWAY_HOME or DATABASE_URL to those of the console that you mean, or run: manage.py migrate"
    )
