"""A node is drained because of a slow processor, put back, or changed by somebody else in between."""

from datetime import timedelta

import pytest
from django.core.exceptions import ValidationError

from console.audit.models import AuditEntry
from console.audit.services import NO_CONTEXT
from console.cluster.models import Cluster, Node
from console.core import clock
from console.power.deciding import drain, put_back
from console.power.draining import SEEN_WITHIN, tend
from console.power.figures import NewReading, record
from console.power.models import NodeDrain, PowerIncident, Source, StandoutState
from console.power.standouts import follow_figures
from scheduler.adapters.simulator.draining import SimulatorNodes
from scheduler.adapters.simulator.state import SimNodeState
from scheduler.model.actions import ActionOutcome, OutcomeKind
from tests.contract import simulator_harness
from tests.contract.simulator_harness import SimulatorHarness
from tests.power.conftest import Site


@pytest.fixture
def incident(site: Site) -> PowerIncident:
    """n4's second GPU is slow."""
    told = [NewReading(f"n{1 + i // 2}", "gpu", i % 2, 12 if i == 7 else 10) for i in range(8)]
    record(site.partition.cluster, told, Source.MEASURED)
    follow_figures(site.partition.cluster)
    return PowerIncident.objects.get()


@pytest.fixture
def there() -> SimulatorHarness:
    """A cluster with nodes of these names."""
    return simulator_harness.in_memory()


def see(site: Site, there: SimulatorHarness) -> None:
    """What a cycle sees, and what follows from it."""
    for node in there.cluster.observe().nodes:
        rows = Node.objects.filter(cluster=site.partition.cluster, name=node.name)
        rows.update(up=node.up, state=node.state, state_reason=node.state_reason)
    Cluster.objects.filter(pk=site.partition.cluster_id).update(observed_at=clock.now())
    tend(site.partition.cluster, there.nodes)


def ask(incident: PowerIncident, reason: str = "Slow since\nMonday") -> NodeDrain:
    return drain(incident, actor="dave", reason=reason, context=NO_CONTEXT)


def back(incident: PowerIncident) -> NodeDrain:
    return put_back(incident, actor="dave", reason="Mended", context=NO_CONTEXT)


def actions() -> list[str]:
    rows = AuditEntry.objects.exclude(action="power.incident_opened").order_by("sequence")
    return list(rows.values_list("action", flat=True))


def test_it_is_drained_only_when_it_is_seen_so_and_put_back_likewise(
    site: Site, incident: PowerIncident, there: SimulatorHarness
) -> None:
    row = ask(incident)
    assert ask(incident, "Once more") == row, "asked for once"
    assert tend(site.partition.cluster, there.nodes) == 1
    assert tend(site.partition.cluster, there.nodes) == 0, "not seen yet"
    row.refresh_from_db()
    assert (row.state, actions()) == ("asked", ["power.drain_asked"])
    see(site, there)
    row.refresh_from_db()
    assert row.state == "drained"
    words = {node.name: node.state_reason for node in there.cluster.observe().nodes}["n4"]
    assert words == f"giveway: drain {row.pk} by dave: Slow since Monday"
    assert back(incident) == back(incident)
    see(site, there)
    see(site, there)
    row.refresh_from_db()
    assert row.state == "back"
    assert actions() == ["power.drain_asked", "power.drained", "power.return_asked", "power.put_back"]


def test_what_somebody_else_drained_is_not_touched(
    site: Site, incident: PowerIncident, there: SimulatorHarness
) -> None:
    there.drain("n4")
    row = ask(incident)
    see(site, there)
    row.refresh_from_db()
    assert (row.state, row.detail) == ("failed", "maintenance")
    with pytest.raises(ValidationError, match="has not drained this node"):
        back(incident)


def test_drained_by_somebody_else_in_between_is_said_and_stays(
    site: Site, incident: PowerIncident, there: SimulatorHarness
) -> None:
    row = ask(incident)
    see(site, there)
    there.drain("n4")
    see(site, there)
    row.refresh_from_db()
    assert (row.state, row.detail) == ("over", "maintenance")
    assert not {node.name: node.up for node in there.cluster.observe().nodes}["n4"]


def test_drained_by_somebody_else_before_it_is_put_back(
    site: Site, incident: PowerIncident, there: SimulatorHarness
) -> None:
    row = ask(incident)
    see(site, there)
    see(site, there)
    there.drain("n4")
    back(incident)
    tend(site.partition.cluster, there.nodes)
    row.refresh_from_db()
    assert (row.state, row.detail) == ("over", "maintenance")


def test_put_back_by_somebody_else_is_said(
    site: Site, incident: PowerIncident, there: SimulatorHarness
) -> None:
    row = ask(incident)
    see(site, there)
    see(site, there)
    there.resume("n4")
    see(site, there)
    row.refresh_from_db()
    assert (row.state, row.detail) == ("over", "")
    assert ask(incident) != row, "it may be drained again"


def test_without_an_answer_it_is_tried_again(
    site: Site, incident: PowerIncident, there: SimulatorHarness
) -> None:
    row = ask(incident)
    with there.down():
        assert tend(site.partition.cluster, there.nodes) == 0
    row.refresh_from_db()
    assert (row.state, row.sent_at, bool(row.detail)) == ("asked", None, True)
    see(site, there)
    see(site, there)
    row.refresh_from_db()
    assert (row.state, row.detail) == ("drained", "")


def test_what_the_cluster_took_and_never_shows_is_over(site: Site, incident: PowerIncident) -> None:
    class Pretends:
        """Takes everything and does nothing."""

        def drain(self, node: str, reason: str) -> ActionOutcome:
            return ActionOutcome(OutcomeKind.DONE, f"{node} {reason}")

        put_back = drain

    row = ask(incident)
    tend(site.partition.cluster, Pretends())
    Cluster.objects.update(observed_at=clock.now())
    assert tend(site.partition.cluster, Pretends()) == 0, "it may take a moment"
    NodeDrain.objects.update(sent_at=clock.now() - SEEN_WITHIN - timedelta(seconds=1))
    assert tend(site.partition.cluster, Pretends()) == 1
    row.refresh_from_db()
    assert row.state == "over"


def test_a_closed_incident_drains_nothing(site: Site, incident: PowerIncident) -> None:
    PowerIncident.objects.update(state=StandoutState.CLOSED)
    with pytest.raises(ValidationError, match="ordinary again"):
        ask(incident)
    with pytest.raises(ValidationError):
        ask(incident, " ")


def test_a_broken_node_of_the_simulator_is_not_drained() -> None:
    there = simulator_harness.in_memory()
    nodes: SimulatorNodes = there.nodes
    with nodes.opened() as cluster:
        cluster.set_node_state("n1", SimNodeState.DOWN, "broken")
    assert nodes.drain("n1", "giveway: x").kind is OutcomeKind.REFUSED
