"""The database itself refuses to change or remove what is in the audit log, whoever asks.

Rows may only be added, at the end. An owner of the database can drop the triggers; that is what the chain
of hashes and the anchors outside the database are for.
"""

from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.utils import NotSupportedError

from scheduler.model.sentence import say

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
# As PostgreSQL says it back: its own order of the events.
_POSTGRES_SAID = {
    name: f"CREATE TRIGGER {name} {body}".replace("UPDATE OR DELETE OR", "DELETE OR UPDATE OR")
    for name, body in _POSTGRES.items()
}
_ASK_POSTGRES = """SELECT tgname, pg_get_triggerdef(pg_trigger.oid, true), tgenabled, prosrc, lanname
    FROM pg_trigger JOIN pg_proc ON pg_proc.oid = tgfoid JOIN pg_language ON pg_language.oid = prolang
    WHERE tgrelid = 'audit_auditentry'::regclass AND NOT tgisinternal"""
_ASK_SQLITE = "SELECT name, sql FROM sqlite_master WHERE type = 'trigger' AND tbl_name = 'audit_auditentry'"


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


def faults(connection: BaseDatabaseWrapper) -> list[str]:
    """What is wrong with the log's guards: one is gone or switched off, says something else, or is not ours.

    Their text is compared, not their names: an empty trigger of the right name guards nothing.
    """
    there = _postgres_says(connection) if connection.vendor == "postgresql" else _sqlite_says(connection)
    wanted = _wanted(connection.vendor)
    gone = [say("audit.trigger.gone", name=name) for name in wanted if name not in there]
    changed = [
        say("audit.trigger.changed", name=name)
        for name in wanted
        if name in there and there[name] != wanted[name]
    ]
    strange = [say("audit.trigger.strange", name=name) for name in there if name not in wanted]
    return [*gone, *changed, *sorted(strange)]


def _sqlite_says(connection: BaseDatabaseWrapper) -> dict[str, str]:
    with connection.cursor() as cursor:
        cursor.execute(_ASK_SQLITE)
        return {name: _plain(sql) for name, sql in cursor.fetchall()}


def _postgres_says(connection: BaseDatabaseWrapper) -> dict[str, str]:
    """Each trigger with the body of its function. One that is not always enabled counts as gone."""
    with connection.cursor() as cursor:
        cursor.execute(_ASK_POSTGRES)
        return {
            name: _plain(f"{said} {body} {language}")
            for name, said, enabled, body, language in cursor.fetchall()
            if enabled == "A" or name not in _POSTGRES
        }


def _wanted(vendor: str) -> dict[str, str]:
    if vendor == "postgresql":
        body = _POSTGRES_BODY.split("$$")[1]
        return {name: _plain(f"{said} {body} plpgsql") for name, said in _POSTGRES_SAID.items()}
    return {name: _plain(f"CREATE TRIGGER {name} {_SQLITE[name]}") for name in names(vendor)}


def _plain(text: str) -> str:
    return " ".join(text.split())


def _creating(vendor: str) -> list[str]:
    if vendor == "sqlite":
        return [f"CREATE TRIGGER {name} {body}" for name, body in _SQLITE.items()]
    # ALWAYS: also for a session that calls itself a replica.
    created = [f"CREATE TRIGGER {name} {_POSTGRES[name]}" for name in names(vendor)]
    always = [f"ALTER TABLE {TABLE} ENABLE ALWAYS TRIGGER {name}" for name in _POSTGRES]
    return [_POSTGRES_BODY, *created, *always]
