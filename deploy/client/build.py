"""Makes the `giveway` command: one file that any Python from 3.9 on runs, to be copied to the login nodes."""

import sys
import zipapp
from pathlib import Path

HERE = Path(__file__).parent
PYTHON = "/usr/bin/env python3"


def wanted(path: Path) -> bool:
    """The package and nothing else."""
    return path.parts[0] == "giveway_client" and path.suffix in {".py", ".typed"}


def build(target: Path) -> None:
    """Write the command to `target`, executable."""
    target.parent.mkdir(parents=True, exist_ok=True)
    zipapp.create_archive(
        HERE, target, interpreter=PYTHON, main="giveway_client.command:run", filter=wanted, compressed=True
    )
    target.chmod(0o755)


if __name__ == "__main__":
    build(Path(sys.argv[1]))
