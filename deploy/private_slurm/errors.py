"""What can go wrong with a private Slurm, and how its logs are quoted."""

from collections.abc import Iterable
from pathlib import Path

TAIL_LINES = 12


class PrivateSlurmError(RuntimeError):
    """The private Slurm cannot be started or used; the message shows the logs where they help."""


class PortsTakenError(PrivateSlurmError):
    """Somebody else took one of the chosen ports first; another try with other ports helps."""


def tail(path: Path, lines: int = TAIL_LINES) -> str:
    """The last lines of a log file, before them the errors further up; nothing for a missing file."""
    if not path.is_file():
        return ""
    all_lines = path.read_text(errors="replace").splitlines()
    last = all_lines[-lines:]
    worse = [line for line in all_lines[:-lines] if "fatal" in line or "error" in line][-lines:]
    return "\n".join(f"    {line}" for line in worse + last)


def with_logs(message: str, logs: Iterable[Path]) -> str:
    """`message` followed by the tail of each log that has anything in it."""
    parts = [message]
    for path in logs:
        text = tail(path)
        if text:
            parts.append(f"  {path}:\n{text}")
    return "\n".join(parts)
