"""What `manage.py steer --once` costs before and while it looks: `python -m bench.steer [--rounds N] [--tree FOLDER]`.

A new SQLite database and the simulated cluster, as somebody has them who has just installed Giveway. Processor time
(user and system) of the whole process, which other work on the machine changes less than the time on the clock. Two
rows: with compiled modules, as after the first start or `make env`, and without any, as where nobody may write them.
"""

import argparse
import os
import resource
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
DROPPED = ("GIVEWAY_", "DJANGO_", "PYTHON", "DATABASE_URL", "REDIS_URL", "SLURM_CONF")


def environment(home: Path, *, compiled: bool) -> dict[str, str]:
    """Of the caller's environment what is not about Giveway or Python. Compiled modules are kept in `home`."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(DROPPED)}
    where = {"PYTHONPYCACHEPREFIX": str(home / ("compiled" if compiled else "nowhere"))}
    return {**kept, **where, "GIVEWAY_HOME": str(home)} | (
        {} if compiled else {"PYTHONDONTWRITEBYTECODE": "1"}
    )


def processor_s(tree: Path, env: dict[str, str], *command: str) -> float:
    """Processor time of one management command, in seconds."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(
        [sys.executable, "manage.py", *command], cwd=tree, env=env, check=True, stdout=subprocess.DEVNULL
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (after.ru_utime - before.ru_utime) + (after.ru_stime - before.ru_stime)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument(
        "--tree", type=Path, default=ROOT, help="another checkout of Giveway, to compare with"
    )
    arguments = parser.parse_args()
    print("| modules | median, s | fastest, s | slowest, s |\n|---|--:|--:|--:|")
    with tempfile.TemporaryDirectory() as home:
        for compiled, name in ((True, "compiled"), (False, "not compiled")):
            env = environment(Path(home), compiled=compiled)
            processor_s(arguments.tree, env, "migrate", "-v0")
            processor_s(arguments.tree, env, "steer", "--once")
            times = [processor_s(arguments.tree, env, "steer", "--once") for _ in range(arguments.rounds)]
            print(f"| {name} | {statistics.median(times):.2f} | {min(times):.2f} | {max(times):.2f} |")
    return 0


if __name__ == "__main__":
    sys.exit(main())
