"""What Giveway costs while nothing happens: `python -m bench.idle [--seconds 60] [--settle 60] [--empty]`.

`manage.py run --slurm` as one types it: the private Slurm (four nodes) has no job. For each of Giveway's processes,
with what it has started meanwhile and seen end (`squeue`): the part of one core, from `/proc/PID/stat`, and the memory,
as PSS from `/proc/PID/smaps_rollup`: what is shared counts once, in parts. Then slurmctld's requests by kind. Slurm's
own processes are not counted. GIVEWAY_CYCLE_S, GIVEWAY_WATCH_S and other variables of the caller hold.
"""

import argparse
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from bench.making_room import ROOT
from deploy.private_slurm.host import free_ports
from deploy.private_slurm.keeper import descendants

READY_S = 300.0
TICKS = os.sysconf("SC_CLK_TCK")


def command_of(pid: int) -> str:
    """What the process was started as, without the interpreter and its options."""
    words = Path(f"/proc/{pid}/cmdline").read_bytes().rstrip(b"\0").decode(errors="replace").split("\0")
    return " ".join(words[1:] if "python" in Path(words[0]).name else words)


def processes(run: int) -> dict[int, str]:
    """Giveway's own processes below and with `run`: Slurm's all descend from its keeper."""
    found = {pid: command_of(pid) for pid in (run, *descendants(run))}
    slurm = {
        each for pid, command in found.items() if "keeper.py" in command for each in (pid, *descendants(pid))
    }
    return {pid: command for pid, command in found.items() if pid not in slurm}


def processor_s(pid: int) -> float:
    """Of the process and its ended children."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return sum(map(int, fields[11:15])) / TICKS


def pss_mb(pid: int) -> float:
    """Its proportional share of memory."""
    rollup = Path(f"/proc/{pid}/smaps_rollup").read_text()
    found = re.search(r"^Pss:\s+(\d+) kB", rollup, re.MULTILINE)
    return int(found[1]) / 1024 if found else 0.0


def requests(conf: str) -> Counter[str]:
    """How often slurmctld was asked what since it started."""
    told = subprocess.run(
        ["sdiag"], env={**os.environ, "SLURM_CONF": conf}, check=True, capture_output=True, text=True
    ).stdout
    by_kind = told.partition("by message type")[2].partition("by user")[0]
    return Counter(
        {name: int(count) for name, count in re.findall(r"(\w+)\s+\(\s*\d+\) count:(\d+)", by_kind)}
    )


def measure(run: int, conf: str, seconds: float) -> None:
    """Print what a stretch of time costs."""
    who, asked = processes(run), requests(conf)
    before, begin = {pid: processor_s(pid) for pid in who}, time.monotonic()
    time.sleep(seconds)
    spent = {pid: processor_s(pid) - before[pid] for pid in who if Path(f"/proc/{pid}").exists()}
    taken = time.monotonic() - begin
    print("| process | % of a core | PSS, MB |\n|---|--:|--:|")
    memory = {pid: pss_mb(pid) for pid in spent}
    for pid, seconds_of in spent.items():
        print(f"| `{who[pid]}` | {100 * seconds_of / taken:.2f} | {memory[pid]:.0f} |")
    print(f"| all | {100 * sum(spent.values()) / taken:.2f} | {sum(memory.values()):.0f} |\n")
    later = requests(conf)
    later.subtract(asked)
    later["REQUEST_STATS_INFO"] -= 1  # our own
    print("| request of slurmctld | a minute |\n|---|--:|")
    for name, count in later.most_common():
        if count > 0:
            print(f"| {name} | {60 * count / taken:.1f} |")
    print(f"| all | {60 * later.total() / taken:.1f} |")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument(
        "--settle", type=float, default=60.0, help="seconds between the start and the measurement"
    )
    parser.add_argument("--empty", action="store_true", help="no demonstration accounts and rules")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="giveway-idle-") as folder:
        (port,) = free_ports(1, avoid=set())
        log = Path(folder) / "log"
        env = {**os.environ, "GIVEWAY_HOME": f"{folder}/home", "PYTHONPYCACHEPREFIX": f"{folder}/compiled"}
        env.pop("PYTHONDONTWRITEBYTECODE", None)
        command = [sys.executable, "manage.py", "run", "--slurm", "--port", str(port)]
        with log.open("wb") as out:
            run = subprocess.Popen(
                [*command, *(["--empty"] if args.empty else [])], cwd=ROOT, env=env, stdout=out, stderr=out
            )
        try:
            until = time.monotonic() + READY_S
            while "Ctrl-C stops it" not in log.read_text():
                if run.poll() is not None or time.monotonic() > until:
                    sys.exit(log.read_text())
                time.sleep(0.2)
            conf = re.search(r"SLURM_CONF=(\S+)", log.read_text())
            assert conf
            time.sleep(args.settle)
            measure(run.pid, conf[1], args.seconds)
        finally:
            run.send_signal(signal.SIGTERM)
            run.wait(120)
        said = [line for line in log.read_text().splitlines() if "WARN" in line or "ERR" in line.upper()]
        print("\n".join(said[:20]))


if __name__ == "__main__":
    main()
