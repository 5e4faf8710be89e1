"""Two people change the same thing at the same moment: one wins, the other is told; nothing is half done.

Real processes on a database that they share, SQLite and PostgreSQL.
"""

from tests.plugins.database import SharedDatabase

SETUP = """
from console.partitions.services import ensure_partition
from tests import factories
ensure_partition(cluster=factories.make_cluster(), name="x")
"""
CHANGE = """
import sys
from console.core.concurrent_changes import ChangedSinceError
from console.partitions.models import Partition
from console.partitions.services import activate_policy
from tests.factories import policy_document
partition, won = Partition.objects.select_related("cluster").get(), 0
for seen in range(1, 11):
    document = policy_document("x", exempt_s=int(sys.argv[1]) * 1000 + seen)
    try:
        activate_policy(actor="dave", partition=partition, document=document, reason="Race.", based_on=seen)
    except ChangedSinceError:
        continue
    won += 1
print(won)
"""
COUNT = """
from console.audit.models import AuditEntry
from console.audit.services import verify_chain
from console.partitions.models import Partition
partition = Partition.objects.select_related("revision").get()
told = AuditEntry.objects.filter(action="policy.activated").count()
print(partition.revision.number, partition.revisions.count(), told, verify_chain().faults)
"""


def test_of_two_changes_of_one_revision_one_wins(shared_database: SharedDatabase) -> None:
    shared_database.python(SETUP)
    for number in ("1", "2"):
        shared_database.start(CHANGE, number)
    won = sum(int(printed) for printed in shared_database.go())
    # Each change that was not refused is one revision and one row, and none was lost.
    assert shared_database.python(COUNT) == f"{won + 1} {won + 1} {won} []\n"
    assert won >= 10
