"""Where the project's own files are, and which of them are its own."""

import shutil
import subprocess
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


@cache
def own_files() -> tuple[Path, ...]:
    """Files that are committed or about to be, without what others wrote (static/vendor)."""
    if (ROOT / ".git").exists() and shutil.which("git"):
        # safe.directory: the tests may be run by somebody else than the clone's owner, for example by root.
        command = ["git", "-c", "safe.directory=*", "-C", str(ROOT), "ls-files", "-z", "--cached", "--others"]
        command.append("--exclude-standard")
        names = subprocess.run(command, capture_output=True, text=True, check=True, timeout=300).stdout
        paths = [ROOT / name for name in names.split("\0") if name]
    else:  # an unpacked archive holds nothing but the project
        paths = [path for path in ROOT.rglob("*") if ".venv" not in path.parts and "var" not in path.parts]
    vendored = ROOT / "static" / "vendor"
    return tuple(path for path in paths if path.is_file() and vendored not in path.parents)


def own_python(*folders: str) -> list[Path]:
    """Python files below these top folders (all of them when none is named)."""
    return [
        path
        for path in own_files()
        if path.suffix == ".py" and (not folders or path.relative_to(ROOT).parts[0] in folders)
    ]
