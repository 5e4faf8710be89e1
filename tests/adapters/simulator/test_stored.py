"""The simulated cluster in a file: shared by processes, surviving restarts, following the wall clock."""

import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from scheduler.adapters.simulator import stored
from scheduler.adapters.simulator.faults import ActionFault, FaultEffect
from scheduler.adapters.simulator.scenarios import UnknownScenarioError, scenario
from scheduler.adapters.simulator.state import SimNodeState
from scheduler.adapters.simulator.stored import SimulatorFileError, StoredSimulator
from scheduler.adapters.simulator.submission import SubmitError
from scheduler.model.actions import Action, ActionKind, OutcomeKind
from scheduler.model.jobs import JobState, RunKey
from scheduler.ports import ClusterUnavailableError
from tests.adapters.simulator.builders import NOW, job

ROOT = Path(__file__).parents[3]


class Clock:
    """A wall clock that stands still until it is set."""

    def __init__(self) -> None:
        self.now = float(NOW)

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "var" / "cluster.json"


def _open(path: Path, clock: Clock, name: str = "demo", speed: float = 1.0) -> StoredSimulator:
    return StoredSimulator(path, name, clock=clock, speed=speed)


def test_a_missing_file_begins_the_scenario_at_the_present(path: Path, clock: Clock) -> None:
    seen = _open(path, clock).observe()

    assert seen.taken_at == NOW
    assert seen.jobs
    assert path.is_file()


def test_a_restart_loses_nothing_and_two_processes_see_the_same(path: Path, clock: Clock) -> None:
    first = _open(path, clock)
    for step in range(60):
        clock.now += 7.3
        second = _open(path, clock)  # what a new process begins with
        seen = second.observe()
        assert first.observe() == seen
        running = [one for one in seen.jobs if one.state is JobState.RUNNING and one.batch]
        held = [Action(ActionKind.RELEASE, one.run) for one in seen.jobs if one.held]
        first.apply([Action(ActionKind.REQUEUE_HOLD, running[step % len(running)].run), *held])
        assert second.observe() == first.observe()


def test_a_history_in_a_file_is_the_history_in_memory(path: Path, clock: Clock) -> None:
    memory = scenario("demo").build(NOW)
    assert _open(path, clock).observe() == memory.observe()
    for _ in range(100):
        clock.now += 20
        memory.advance(20)
        assert _open(path, clock).observe() == memory.observe()


@pytest.mark.parametrize("speed", [0.25, 1.0, 10.0])
def test_the_simulated_clock_follows_the_wall_clock_and_keeps_fractions(
    path: Path, clock: Clock, speed: float
) -> None:
    sim = _open(path, clock, speed=speed)
    sim.observe()
    for _ in range(100):
        clock.now += 0.5
        sim.observe()

    assert abs(sim.observe().taken_at - (NOW + 50 * speed)) <= 1


def test_a_clock_that_is_set_back_does_not_turn_time_round(path: Path, clock: Clock) -> None:
    sim = _open(path, clock)
    sim.observe()
    clock.now -= 5000
    assert sim.observe().taken_at == NOW
    clock.now += 3
    assert sim.observe().taken_at == NOW + 3


def test_after_a_long_pause_only_some_minutes_are_made_up_for(path: Path, clock: Clock) -> None:
    sim = _open(path, clock, "empty")
    job_id = sim.submit(job(1, run_s=1000))
    sim.observe()
    clock.now += 86_400

    seen = sim.observe()

    assert seen.taken_at == NOW + 86_400
    assert [one.id for one in seen.jobs] == [job_id]
    assert seen.jobs[0].start == NOW
    clock.now += 1000 - stored.CATCH_UP_S + 1
    assert sim.observe().jobs == ()


def test_jobs_can_be_submitted_and_cancelled_by_hand(path: Path, clock: Clock) -> None:
    sim = _open(path, clock, "empty")
    one = sim.submit(job(1, "by hand"))
    clock.now += 1

    assert [(seen.id, seen.name) for seen in sim.observe().jobs] == [(one, "by hand")]
    assert sim.cancel(one)
    assert not sim.cancel("77")
    clock.now += 5
    assert sim.observe().jobs == ()
    with pytest.raises(SubmitError):
        sim.submit(job(9))


def test_nodes_can_be_drained_by_hand_and_faults_are_kept_too(path: Path, clock: Clock) -> None:
    sim = _open(path, clock, "empty")
    sim.set_node_state("n2", SimNodeState.DRAIN, "noise")
    with sim.opened() as cluster:
        cluster.faults.add(ActionFault(FaultEffect.REFUSE, "no", ActionKind.HOLD, times=1))
        cluster.faults.answer_partially("half", nodes=("n3",))

    seen = _open(path, clock, "empty").observe()
    assert [(node.name, node.up) for node in seen.nodes] == [("n1", True), ("n2", False), ("n4", True)]
    assert seen.faults == ("half",)
    one = sim.submit(job(1))
    clock.now += 1
    run = sim.observe().jobs[0].run
    assert one == run.job_id
    assert sim.apply([Action(ActionKind.CANCEL, run)])[0].kind is OutcomeKind.DONE


def test_a_reset_begins_the_scenario_anew(path: Path, clock: Clock) -> None:
    sim = _open(path, clock, "empty")
    sim.submit(job(1))
    clock.now += 50

    sim.reset()

    seen = sim.observe()
    assert (seen.jobs, seen.taken_at) == ((), NOW + 50)


def test_an_error_inside_leaves_the_file_as_it_was(path: Path, clock: Clock) -> None:
    sim = _open(path, clock, "empty")
    sim.submit(job(1))
    before = path.read_bytes()

    with pytest.raises(SubmitError), sim.opened() as cluster:
        cluster.submit(replace(job(1), dependency=cluster.submit(job(1))))

    assert path.read_bytes() == before
    assert len(sim.observe().jobs) == 1


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "is not readable"),
        (b"{", "is not readable"),
        (b"\xff\xfe\x00", "is not readable"),
        (b"[]", "is not readable"),
        (b"{}", "is not readable"),
        (b'{"format": "giveway.simulator/0"}', "has format 'giveway.simulator/0'"),
        (b'{"format": "giveway.simulator/1", "scenario": "empty"}', "holds scenario 'empty'"),
        (
            b'{"format": "giveway.simulator/1", "scenario": "demo", "wall": 1, "cluster": {}}',
            "is not readable",
        ),
        (
            b'{"format":"giveway.simulator/1","scenario":"demo","wall":1,"cluster":{"specs":[],"jobs":[{"spec":0}]}}',
            "is not readable",
        ),
    ],
)
def test_a_file_that_is_no_state_is_an_error_with_its_name_and_the_cure(
    path: Path, clock: Clock, content: bytes, words: str
) -> None:
    path.parent.mkdir()
    path.write_bytes(content)
    sim = _open(path, clock)

    with pytest.raises(ClusterUnavailableError) as observing:
        sim.observe()

    assert str(path) in str(observing.value)
    assert words in str(observing.value)
    assert "delete the file" in str(observing.value)
    assert "\n" not in str(observing.value)
    assert path.read_bytes() == content
    outcomes = sim.apply([Action(ActionKind.HOLD, RunKey(one, 0)) for one in ("1", "2")])
    assert [outcome.kind for outcome in outcomes] == [OutcomeKind.UNKNOWN] * 2
    path.unlink()
    assert sim.observe().jobs


def test_a_half_missing_state_is_an_error_too(path: Path, clock: Clock) -> None:
    _open(path, clock).observe()
    data = json.loads(path.read_text())
    del data["cluster"]["jobs"][3]["submit"]
    path.write_text(json.dumps(data))

    with pytest.raises(SimulatorFileError, match="is not readable"):
        _open(path, clock).observe()


def test_a_folder_that_cannot_be_made_is_an_error_with_its_name(tmp_path: Path, clock: Clock) -> None:
    (tmp_path / "file").write_text("")

    with pytest.raises(SimulatorFileError, match="cannot be opened"):
        _open(tmp_path / "file" / "cluster.json", clock).observe()


def test_a_lock_that_somebody_keeps_is_an_error_after_a_while(
    path: Path, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stored, "LOCK_WAIT_S", 0.05)
    sim, other = _open(path, clock), _open(path, clock)

    with sim.opened(), pytest.raises(SimulatorFileError, match="held by another process"):
        other.observe()

    assert other.observe().jobs


def test_threads_take_turns(path: Path, clock: Clock) -> None:
    sims = [_open(path, clock, "empty") for _ in range(4)]

    def submit_five(sim: StoredSimulator) -> list[str]:
        return [sim.submit(job(1)) for _ in range(5)]

    with ThreadPoolExecutor(8) as pool:
        ids = [job_id for found in pool.map(submit_five, sims * 2) for job_id in found]

    assert sorted(map(int, ids)) == list(range(1, 41))
    assert len(sims[0].observe().jobs) == 40


SUBMIT_TEN = """
import sys
from scheduler.adapters.simulator.jobs import JobSpec
from scheduler.adapters.simulator.stored import StoredSimulator
from scheduler.model.jobs import Request

sim = StoredSimulator(sys.argv[1], "empty")
for number in range(10):
    sim.submit(JobSpec(f"job {number}", "ann", Request(nodes=1, per_node={"cpu": 1})))
    sim.observe()
"""


def test_processes_take_turns(path: Path, clock: Clock) -> None:
    processes = [
        subprocess.Popen([sys.executable, "-c", SUBMIT_TEN, str(path)], cwd=ROOT, stderr=subprocess.PIPE)
        for _ in range(3)
    ]
    for process in processes:
        _, errors = process.communicate(timeout=300)
        assert process.returncode == 0, errors.decode()

    with _open(path, clock, "empty").opened() as cluster:
        assert len(cluster.state.jobs) == 30
        assert cluster.state.next_id == 31


def test_a_cluster_can_be_named(path: Path, clock: Clock) -> None:
    assert _open(path, clock).describe().name == "demo"
    assert StoredSimulator(path, "demo", clock=clock, name="dev").observe().cluster == "dev"


def test_wrong_arguments_are_refused_at_once(path: Path) -> None:
    with pytest.raises(ValueError, match="speed"):
        StoredSimulator(path, "demo", speed=0)
    with pytest.raises(UnknownScenarioError):
        StoredSimulator(path, "nothing")
