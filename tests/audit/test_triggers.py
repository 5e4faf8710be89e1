"""The database itself refuses to change what is in the log, whoever asks: raw SQL, on SQLite and PostgreSQL."""

import pytest
from django.core.management import call_command
from django.db import IntegrityError, connection, transaction

from console.audit import triggers
from console.audit.models import AuditEntry, AuditHead
from tests.audit.rows import append

pytestmark = pytest.mark.django_db
COLUMNS = [str(field.column) for field in AuditEntry._meta.concrete_fields]


def refused(statement: str) -> str:
    """What the database says to a statement that it must refuse, and the log is as before."""
    before = list(AuditEntry.objects.order_by("id").values())
    with pytest.raises(IntegrityError) as error, transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(statement)
    assert list(AuditEntry.objects.order_by("id").values()) == before
    return str(error.value)


def test_no_row_can_be_changed() -> None:
    append(3)
    for column in COLUMNS:
        message = refused(f"UPDATE audit_auditentry SET {column} = {column} WHERE sequence = 2")
        assert "append-only: UPDATE refused" in message


def test_no_row_can_be_deleted() -> None:
    append(3)
    assert "append-only: DELETE refused" in refused("DELETE FROM audit_auditentry WHERE sequence = 3")
    assert "append-only: DELETE refused" in refused("DELETE FROM audit_auditentry")


def test_the_orm_is_refused_as_well() -> None:
    entry = append()
    entry.reason = "Another one."
    with pytest.raises(IntegrityError, match="UPDATE refused"), transaction.atomic():
        entry.save()
    with pytest.raises(IntegrityError, match="DELETE refused"), transaction.atomic():
        AuditEntry.objects.all().delete()


@pytest.mark.parametrize("stolen", ["id", "sequence", "hash"])
def test_no_row_can_be_replaced_by_inserting_another(stolen: str) -> None:
    append(3)
    taken = {"id": "id", "sequence": "sequence", "hash": "hash"}
    fresh = {"id": "id + 10", "sequence": "sequence + 10", "hash": "'f'"}
    values = {**fresh, stolen: taken[stolen], "reason": "'forged'"}
    columns = ", ".join(COLUMNS)
    select = f"SELECT {', '.join(values.get(c, c) for c in COLUMNS)} FROM audit_auditentry WHERE sequence = 2"
    if connection.vendor == "sqlite":
        assert "append-only" in refused(f"INSERT OR REPLACE INTO audit_auditentry ({columns}) {select}")
    else:
        tail = f"ON CONFLICT ({stolen}) DO UPDATE SET reason = 'forged'"
        assert "append-only" in refused(f"INSERT INTO audit_auditentry ({columns}) {select} {tail}")


@pytest.mark.skipif(connection.vendor != "postgresql", reason="SQLite has no TRUNCATE and no replicas")
def test_postgresql_refuses_truncate_and_pretended_replicas() -> None:
    append(3)
    assert "append-only: TRUNCATE refused" in refused("TRUNCATE audit_auditentry")
    assert "append-only: TRUNCATE refused" in refused("TRUNCATE audit_auditentry CASCADE")
    replica = "SET LOCAL session_replication_role = 'replica';"
    assert "append-only: DELETE refused" in refused(f"{replica} DELETE FROM audit_auditentry")


@pytest.mark.django_db(transaction=True)
def test_flush_is_refused() -> None:
    append()
    with pytest.raises(Exception, match="flush") as error:
        call_command("flush", interactive=False, verbosity=0)
    assert isinstance(error.value.__cause__, IntegrityError)
    assert AuditEntry.objects.count() == 1


@pytest.mark.django_db(transaction=True)
def test_a_test_that_commits_leaves_rows() -> None:
    append(2)


@pytest.mark.django_db(transaction=True)
def test_and_the_next_one_finds_the_log_empty_and_guarded() -> None:
    assert not AuditEntry.objects.exists()
    assert not AuditHead.objects.filter(sequence__gt=0).exists()
    assert triggers.faults(connection) == []


def test_a_trigger_that_is_gone_is_noticed() -> None:
    assert triggers.faults(connection) == []
    triggers.remove(connection)
    names = triggers.names(connection.vendor)
    assert [fault.split()[2] for fault in triggers.faults(connection)] == names
    triggers.install(connection)
    assert triggers.faults(connection) == []


def test_another_database_is_refused() -> None:
    with pytest.raises(Exception, match="SQLite or PostgreSQL, not in mysql"):
        triggers.names("mysql")


def test_a_trigger_that_does_something_else_is_noticed() -> None:
    """An empty one of the same name was taken for the guard."""
    with connection.cursor() as cursor:
        if connection.vendor == "sqlite":
            cursor.execute("DROP TRIGGER audit_refuse_delete")
            cursor.execute(
                "CREATE TRIGGER audit_refuse_delete BEFORE DELETE ON audit_auditentry BEGIN SELECT 1; END"
            )
        else:
            cursor.execute(
                "CREATE OR REPLACE FUNCTION audit_refuse() RETURNS trigger LANGUAGE plpgsql AS"
                " $$ BEGIN RETURN NULL; END $$"
            )
    assert len(triggers.faults(connection)) == 1
    assert "is not the one that Giveway made" in triggers.faults(connection)[0]
    triggers.remove(connection)
    triggers.install(connection)
    assert triggers.faults(connection) == []


def test_a_trigger_of_somebody_else_is_noticed() -> None:
    body = "BEGIN SELECT 1; END" if connection.vendor == "sqlite" else "EXECUTE FUNCTION audit_refuse()"
    with connection.cursor() as cursor:
        cursor.execute(f"CREATE TRIGGER strange AFTER INSERT ON audit_auditentry FOR EACH ROW {body}")
        assert triggers.faults(connection) == ["The trigger strange on the log is none of Giveway's."]
        on = "" if connection.vendor == "sqlite" else " ON audit_auditentry"
        cursor.execute(f"DROP TRIGGER strange{on}")
