"""The database itself refuses to change or remove what is in the audit log, whoever asks.

Rows may only be added, at the end. An owner of the database can drop the triggers; that is what the chain
of hashes and the anchors outside the database are for.
"""

from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.utils import NotSupportedError

TABLE = "audit_auditentry"

# SQLite's "INSERT OR REPLACE" removes the old row without firing its DELETE trigger: hence the one on INSERT.
_SQLITE = {
    "audit_refuse_update": """BEFORE UPDATE ON audit_auditentry
        BEGIN SELECT RAISE(ABORT, 'The audit log is append-only: UPDATE refused'); END""",
    "audit_refuse_delete": """BEFORE DELETE ON audit_auditentry
        BEGIN SELECT RAISE(ABORT, 'The audit log is append-only: DELETE refused'); END""",
    "audit_refuse_replace": """BEFORE INSERT ON audit_auditentry
        WHEN EXISTS (SELECT 1 FROM audit_auditentry
                     WHERE id = NEW.id OR hash = NEW.hash OR sequence >= NEW.sequence)
        BEGIN SELECT RAISE(ABORT, 'The audit log is append-only: rows are added at the end only'); END""",
}

_FUNCTION = "audit_refuse"
_POSTGRES_BODY = """CREATE OR REPLACE FUNCTION audit_refuse() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        RAISE EXCEPTION 'The audit log is append-only: % refused', TG_OP
            USING ERRCODE = 'integrity_constraint_violation';
    END $$"""
# Per statement, because TRUNCATE has no rows.
_POSTGRES = {
    "audit_refuse_change": """BEFORE UPDATE OR DELETE OR TRUNCATE ON audit_auditentry
        FOR EACH STATEMENT EXECUTE FUNCTION audit_refuse()""",
}
_ASK_POSTGRES = """SELECT tgname FROM pg_trigger
    WHERE tgrelid = 'audit_auditentry'::regclass AND tgenabled = 'A'"""
_ASK_SQLITE = "SELECT name FROM sqlite_master WHERE type = 'trigger' AND tbl_name = 'audit_auditentry'"


def install(connection: BaseDatabaseWrapper) -> None:
    """Create the triggers; refusals are `IntegrityError`."""
    with connection.cursor() as cursor:
        for statement in _creating(connection.vendor):
            cursor.execute(statement)


def remove(connection: BaseDatabaseWrapper) -> None:
    """Drop the triggers: for taking the migration back, and for tests that empty their database."""
    on_table = f" ON {TABLE}" if connection.vendor == "postgresql" else ""
    with connection.cursor() as cursor:
        for name in names(connection.vendor):
            cursor.execute(f"DROP TRIGGER IF EXISTS {name}{on_table}")
        if connection.vendor == "postgresql":
            cursor.execute(f"DROP FUNCTION IF EXISTS {_FUNCTION}()")


def names(vendor: str) -> list[str]:
    """The triggers of a kind of database."""
    if vendor == "sqlite":
        return list(_SQLITE)
    if vendor == "postgresql":
        return list(_POSTGRES)
    raise NotSupportedError(f"The audit log can be kept in SQLite or PostgreSQL, not in {vendor}.")


def missing(connection: BaseDatabaseWrapper) -> list[str]:
    """Triggers that should guard the log and do not."""
    asked = _ASK_POSTGRES if connection.vendor == "postgresql" else _ASK_SQLITE
    with connection.cursor() as cursor:
        cursor.execute(asked)
        there = {name for (name,) in cursor.fetchall()}
    return [name for name in names(connection.vendor) if name not in there]


def _creating(vendor: str) -> list[str]:
    if vendor == "sqlite":
        return [f"CREATE TRIGGER {name} {body}" for name, body in _SQLITE.items()]
    # ALWAYS: also for a session that calls itself a replica.
    created = [f"CREATE TRIGGER {name} {_POSTGRES[name]}" for name in names(vendor)]
    always = [f"ALTER TABLE {TABLE} ENABLE ALWAYS TRIGGER {name}" for name in _POSTGRES]
    return [_POSTGRES_BODY, *created, *always]
