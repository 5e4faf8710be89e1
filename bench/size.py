"""How large the code is, without tests and migrations: `python -m bench.size [REVISION …]`.

Lines of Python by folder and how long functions are, of each revision of git and of the files as they are now. Prints a
Markdown table.
"""

import argparse
import ast
import io
import subprocess
import tarfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).parents[1]
NOW = "now"
FOLDERS = ("console", "scheduler", "deploy", "bench")
LONG_FILE = 300


@dataclass(slots=True)
class Size:
    """Lines by folder, the lengths of functions, ascending, and how many files are longer than `LONG_FILE`."""

    lines: Counter[str] = field(default_factory=Counter)
    functions: list[int] = field(default_factory=list)
    files: int = 0
    long_files: int = 0


def sources(revision: str) -> Iterator[tuple[str, str]]:
    """Each file's path and text. Raises CalledProcessError for a revision that git does not know."""
    if revision == NOW:
        told = subprocess.run(
            ["git", "ls-files", *FOLDERS], cwd=ROOT, check=True, capture_output=True, text=True
        )
        for name in told.stdout.splitlines():
            if name.endswith(".py"):
                yield name, (ROOT / name).read_text(encoding="utf-8")
        return
    packed = subprocess.run(["git", "archive", revision], cwd=ROOT, check=True, capture_output=True)
    with tarfile.open(fileobj=io.BytesIO(packed.stdout)) as archive:
        for member in archive:
            stream = archive.extractfile(member) if member.name.endswith(".py") else None
            if stream is not None:
                yield member.name, stream.read().decode()


def size_of(revision: str) -> Size:
    """How large one revision is."""
    size = Size()
    for name, text in sources(revision):
        folder, _, _ = name.partition("/")
        if folder not in FOLDERS or "/migrations/" in name:
            continue
        length = len(text.splitlines())
        size.lines[folder] += length
        size.files += 1
        size.long_files += length > LONG_FILE
        size.functions += [
            node.end_lineno - node.lineno + 1
            for node in ast.walk(ast.parse(text))
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.end_lineno
        ]
    size.functions.sort()
    return size


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("revisions", nargs="*", metavar="REVISION")
    print(
        f"| revision | {' | '.join(FOLDERS)} | all | functions | p50 | p90 | max | files | over {LONG_FILE} lines |"
    )
    print(f"|---|{'--:|' * (len(FOLDERS) + 7)}")
    for revision in (*parser.parse_args().revisions, NOW):
        size = size_of(revision)
        lengths = size.functions
        cells = [f"{size.lines[folder]:,}" for folder in FOLDERS]
        cells += [f"{size.lines.total():,}", f"{len(lengths):,}"]
        cells += [str(lengths[len(lengths) * share // 100]) for share in (50, 90)]
        print(f"| {revision} | {' | '.join(cells)} | {lengths[-1]} | {size.files} | {size.long_files} |")


if __name__ == "__main__":
    main()
