"""The tests of the foundations and of steering once more, on a real PostgreSQL.

By hand, for any tests: `python -m pytest -p tests.plugins.on_postgres tests/steering`.
"""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.plugins.migrated import create_migrated_database
from tests.plugins.servers import PostgresServer

ROOT = Path(__file__).parents[1]
TIMEOUT_S = 2400
STEERING = ROOT / "tests" / "steering"
# Of files whose tests are all whole plans, one plan each: what they write is alike.
ONE_OF = {
    "test_arrays.py": "test_urgent_tasks_get_room_by_one_plan_and_all_that_were_stopped_come_back_once",
    "test_checkpoints.py": "test_all_victims_of_a_plan_are_waited_for_and_then_stopped_together",
    "test_elastic.py": "test_one_worker_goes_and_comes_back",
    "test_exchanging.py": "test_both_run_on_even_sets_and_it_was_stopped_once",
    "test_keeping.py": "test_it_is_let_go_when_the_job_runs",
    "test_line.py": "test_taken_back_everybody_is_where_slurm_has_them",
    "test_lives.py": "test_each_stop_has_its_own_return",
    "test_placing.py": "test_others_make_room_for_it_and_it_starts_there",
    "test_regrowing.py": "test_when_the_other_has_ended_it_gets_its_nodes_back[elastic:min=2,how=inplace]",
    "test_requeueing.py": "test_it_is_made_requeueable_at_once_and_each_step_is_told_once",
    "test_together.py": "test_they_are_held_until_all_fit_and_then_start_together",
}
# Worlds that take many cycles, files of generated text and a script of Slurm's say nothing more on another database.
ALIKE = (
    "sqlite", "no_thrash", "document_000", "test_undoing", "test_when_things_go_wrong", "test_limits", "test_proposals",
    "submit_script", "any_import", "replaying", "test_grace", "test_making_room", "test_metering", "test_looking_again",
    "test_orphaned_holds", "test_stopped", "pages_say_so", "plan_is_long_over", "answers_are_lost", "putting_off",
    "test_victims", "wherever_it_raises", "not_understood", "test_elastic_nodes",
    "kind_demo", "no_circles", "test_incidents", "comes_back_before_all", "takes_turns", "random_history",
)  # fmt: skip


def _steering() -> Iterator[str]:
    for path in sorted(STEERING.rglob("test_*.py")):
        one = f"::{ONE_OF[path.name]}" if path.name in ONE_OF else ""
        yield f"{path.relative_to(ROOT)}{one}"


@pytest.mark.postgres
@pytest.mark.timeout(TIMEOUT_S + 20)
@pytest.mark.parametrize(
    "folders",
    [
        (
            "accounts audit config core/test_bulk_update.py partitions power projects history/test_quota_times.py "
            "ui/test_plots.py"
        ),
        "steering",
    ],
)
def test_the_foundations_hold_on_postgresql(postgres_server: PostgresServer, folders: str) -> None:
    """Without those tests that run on both databases anyway."""
    command = [sys.executable, "-m", "pytest", "-p", "tests.plugins.on_postgres", "-p", "no:cacheprovider"]
    command += ["-m", "not postgres", "-k", " and ".join(f"not {word}" for word in ALIKE)]
    if folders == "steering":
        command += _steering()
    else:
        command += [f"tests/{path}" for path in folders.split()]
    environment = {key: value for key, value in os.environ.items() if not key.startswith("PYTEST_")}
    name = f"part_{folders.split(maxsplit=1)[0]}"
    # Its tests' database has its tables already: a copy takes less than migrating once more.
    create_migrated_database(postgres_server, f"test_{name}")
    command.append("--reuse-db")
    database = postgres_server.create_database(name)
    done = subprocess.run(
        command,
        cwd=ROOT,
        env={**environment, "DATABASE_URL": database},
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
    )
    assert done.returncode == 0, done.stdout[-10_000:] + done.stderr[-2_000:]
    assert "database: postgresql" in done.stdout
