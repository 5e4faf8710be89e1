"""Some words stay in their places (docs/development.md, "Support another scheduler"). Who may import whom is in
.importlinter."""

import re

from tests.test_project.repository import ROOT, own_python


def test_only_connect_asks_what_kind_the_cluster_is() -> None:
    """What is simulated `console.core.installation` says; how a cluster is reached `console.cluster.connect`."""
    allowed = {"console/cluster/connect.py", "console/core/installation.py"}
    places = [*own_python("console"), *(ROOT / "templates").rglob("*.html")]
    found = [
        path.relative_to(ROOT).as_posix()
        for path in places
        if re.search(r"(kind|GIVEWAY_CLUSTER)\s*(==|!=)\s*\"(slurm|simulator)\"", path.read_text())
    ]
    assert set(found) <= allowed, found


def test_the_console_names_no_priority_of_slurms() -> None:
    """The front of the line and a job's own place are told apart by `scheduler.model.line`."""
    big = re.compile(r"\b4_?29\d_?\d{3}_?\d{3}\b|2 ?\*\* ?32")
    found = [p.relative_to(ROOT).as_posix() for p in own_python("console") if big.search(p.read_text())]
    assert not found, found


def test_only_the_ledger_tells_the_cluster_anything() -> None:
    """Whatever is wanted is written down, claimed and settled in one place: `console.steering.ledger.execute`."""
    said = re.compile(r"\b(adapter|port|cluster)\.apply\(|connect\([^)]*\)\.apply\(")
    allowed = {
        "console/steering/ledger.py",
        "console/launch/past/playing.py",  # the made-up past plays on a simulator of its own
    }
    found = {p.relative_to(ROOT).as_posix() for p in own_python("console") if said.search(p.read_text())}
    assert found == allowed
