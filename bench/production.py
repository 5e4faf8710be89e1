"""Do README's commands keep up? `python -m bench.production [--case urgent|many] [--minutes 60]`

As root: PostgreSQL, Redis and a private, real Slurm with the bell, and the five commands of the README as typed there.
  urgent  four nodes full of 32 low jobs, an urgent one of one GPU each minute
  many    10,240 running jobs on 40 nodes, ten of them end and ten come each minute
Printed: the gaps between cycles of the last hour (what the installation's page says), the messages in each queue (most
ever seen, and at the end), what was forecast.
"""

import argparse
import json
import os
import re
import shlex
import subprocess
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path

import psycopg
import redis

from bench.load import cluster, minute
from bench.making_room import POLICY, ROOT, manage
from tests.plugins.servers import PostgresServer, RedisServer

QUEUES = ("steer", "celery", "forecasts", "studies")
COUNTS = {
    "plans carried out": "SELECT count(*) FROM steering_plan WHERE state = 'verified'",
    "run times forecast": "SELECT count(*) FROM forecasts_jobforecast",
    "starts expected": "SELECT count(*) FROM starts_expectedstart",
    "cycles": "SELECT count(*) FROM steering_cycle",
}
CADENCE = (
    "from console.cluster.models import Cluster; from console.steering.cadence import read_cadence;"
    "c = read_cadence(Cluster.objects.get());"
    "print(f'{c.cycles} cycles; gaps: median {c.p50_s:g} s, 99 % {c.p99_s:g} s, longest {c.longest_s:.2f} s; '"
    "f'late by {c.late_s:.2f} s {list(c.instead)}')"
)


def typed(page: str) -> list[list[str]]:
    """The long-running commands of the README, with this interpreter's programs."""
    found = re.findall(r"^(?:nice )?(\.venv/bin/(?:gunicorn|celery) .*)$", page, re.MULTILINE)
    return [shlex.split(each, comments=True) for each in found]


def main() -> None:
    """Print what was seen, minute by minute and at the end."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--case", choices=("urgent", "many"), default="urgent")
    parser.add_argument("--minutes", type=int, default=60)
    args = parser.parse_args()
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="gw-", dir="/tmp")))
        postgres, memory = stack.enter_context(PostgresServer()), stack.enter_context(RedisServer())
        slurm, home = stack.enter_context(cluster(args.case, bell=True))
        env = {
            **os.environ, **slurm.env,
            "DJANGO_SETTINGS_MODULE": "console.settings.production", "SECRET_KEY": "k8s-" + "x7Qz-" * 12,
            "ALLOWED_HOSTS": "giveway.example.org", "DATABASE_URL": postgres.url, "REDIS_URL": memory.url,
            "GIVEWAY_CLUSTER": "slurm", "GIVEWAY_CLUSTER_NAME": "dev", "GIVEWAY_HOME": str(home),
            "GIVEWAY_SUBMIT_RULES": str(slurm.submit_rules),
        }  # fmt: skip
        manage(env, "migrate", "-v0")
        manage(env, "config", "import", "-", stdin=json.dumps(POLICY))
        if args.case == "urgent":
            for _ in range(32):
                slurm.submit("ann", "-p", "wide", "-n1", "--mem=10", "--gres=gpu:1")
        for number, command in enumerate(typed((ROOT / "README.md").read_text())):
            words = [str(folder / "web.sock").join(each.split("/run/giveway/web.sock")) for each in command]
            log = (folder / f"{number}.log").open("wb")
            child = subprocess.Popen(words, cwd=ROOT, env=env, stdout=log, stderr=log, start_new_session=True)
            stack.callback(child.wait, 60)
            stack.callback(child.terminate)
        most = dict.fromkeys(QUEUES, 0)
        with redis.Redis.from_url(memory.url) as client:
            for passed in range(args.minutes):
                minute(slurm, args.case)
                waiting = {queue: int(client.llen(queue)) for queue in QUEUES}
                most = {queue: max(most[queue], waiting[queue]) for queue in QUEUES}
                print(passed + 1, waiting, f"{client.info('memory')['used_memory'] / 1e6:.1f} MB", flush=True)
        print("most in a queue:", most)
        with psycopg.connect(postgres.url) as server:
            for what, query in COUNTS.items():
                print(f"{what}: {(server.execute(query).fetchone() or [0])[0]}")
        asked = [sys.executable, "manage.py", "shell", "-v0", "-c", CADENCE]
        subprocess.run(asked, cwd=ROOT, env=env, check=True)
        for number in range(5):
            text = (folder / f"{number}.log").read_text(errors="replace")
            print(f"log {number}: {len(text.splitlines())} lines, {text.count('Traceback')} tracebacks")
            if "Traceback" in text:
                print(text[text.index("Traceback") - 500 :][:3000])


if __name__ == "__main__":
    main()
