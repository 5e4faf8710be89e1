"""How large the product is, beside what it aims at: `python -m bench.size [REVISION …]` (`make sizes`).

Python of console and scheduler without migrations, of each revision of git and of the files as they are now, and the
same by folder. Code is every line that is neither blank nor a comment, a docstring or an import. Prints tables in
Markdown; nothing fails.
"""

import argparse
import ast
import io
import subprocess
import tarfile
import tokenize
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).parents[1]
NOW = "now"
FOLDERS = ("console", "scheduler")
STEERING = "console/steering/"
NO_CODE = {
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENDMARKER,
}
DOCUMENTED = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
CACHES = ast.Assign | ast.AnnAssign


@dataclass(slots=True)
class Size:
    """What a revision has; lines of code and imports and files by folder, functions by their lengths, ascending."""

    code: Counter[str] = field(default_factory=Counter)
    imports: Counter[str] = field(default_factory=Counter)
    docstrings: Counter[str] = field(default_factory=Counter)
    whole: Counter[str] = field(default_factory=Counter)
    files: Counter[str] = field(default_factory=Counter)
    classes: int = 0
    caches: int = 0
    functions: list[int] = field(default_factory=list)

    def lines(self, folder: str = "") -> int:
        """Code and imports of what stands below a folder."""
        return sum(
            n for kept in (self.code, self.imports) for name, n in kept.items() if name.startswith(folder)
        )

    def whole_in(self, folder: str) -> int:
        """All lines of what stands below a folder."""
        return sum(n for name, n in self.whole.items() if name.startswith(folder))

    def files_in(self, folder: str = "") -> int:
        """Files below a folder."""
        return sum(n for name, n in self.files.items() if name.startswith(folder))


def sources(revision: str) -> Iterator[tuple[str, str]]:
    """Each file's path and text. Raises CalledProcessError for a revision that git does not know."""
    if revision == NOW:
        told = subprocess.run(
            ["git", "ls-files", *FOLDERS], cwd=ROOT, check=True, capture_output=True, text=True
        )
        for name in told.stdout.splitlines():
            if name.endswith(".py") and (ROOT / name).exists():
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
        if name.partition("/")[0] not in FOLDERS or "/migrations/" in name:
            continue
        folder, tree = name.rpartition("/")[0] + "/", ast.parse(text)
        imports, docstrings = _lines_of_imports(tree), _lines_of_docstrings(tree)
        code = _lines_with_tokens(text) - imports - docstrings
        size.files[folder] += 1
        size.whole[folder] += len(text.splitlines())
        size.code[folder] += len(code)
        size.imports[folder] += len(imports)
        size.docstrings[folder] += len(docstrings)
        size.caches += sum(_is_cache(node) for node in tree.body)
        for node in ast.walk(tree):
            size.classes += isinstance(node, ast.ClassDef)
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.end_lineno:
                size.functions.append(node.end_lineno - node.lineno + 1)
    size.functions.sort()
    return size


def _lines_with_tokens(text: str) -> set[int]:
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    return {
        line
        for token in tokens
        if token.type not in NO_CODE
        for line in range(token.start[0], token.end[0] + 1)
    }


def _lines_of_imports(tree: ast.Module) -> set[int]:
    nodes = (node for node in ast.walk(tree) if isinstance(node, ast.Import | ast.ImportFrom))
    return {line for node in nodes for line in range(node.lineno, (node.end_lineno or node.lineno) + 1)}


def _lines_of_docstrings(tree: ast.Module) -> set[int]:
    """Also those that stand under an attribute or a constant."""
    found: set[int] = set()
    for node in ast.walk(tree):
        for each in node.body if isinstance(node, DOCUMENTED) else ():
            if (
                isinstance(each, ast.Expr)
                and isinstance(each.value, ast.Constant)
                and isinstance(each.value.value, str)
            ):
                found.update(range(each.lineno, (each.end_lineno or each.lineno) + 1))
    return found


def _is_cache(node: ast.stmt) -> bool:
    """Whether a module keeps something in memory: a name of its own that begins as an empty dict or the like."""
    if not isinstance(node, CACHES) or node.value is None:
        return False
    value = node.value
    if isinstance(value, ast.Dict):
        return not value.keys
    makes = isinstance(value, ast.Call) and isinstance(value.func, ast.Name | ast.Attribute)
    name = ast.unparse(value.func) if makes and isinstance(value, ast.Call) else ""
    return name.rpartition(".")[2] in {
        "dict",
        "defaultdict",
        "OrderedDict",
        "WeakKeyDictionary",
        "Remembered",
    }


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("revisions", nargs="*", metavar="REVISION")
    revisions = (*parser.parse_args().revisions, NOW)
    sizes = [size_of(revision) for revision in revisions]
    rows = [
        ("code + imports", "55,000", [size.lines() for size in sizes]),
        ("files", "450", [size.files_in() for size in sizes]),
        ("classes", "900", [size.classes for size in sizes]),
        ("all lines of console/steering", "11,000", [size.whole_in(STEERING) for size in sizes]),
        ("files of console/steering", "45", [size.files_in(STEERING) for size in sizes]),
        ("dicts that a module keeps", "4", [size.caches for size in sizes]),
        ("lines of docstrings", "", [sum(size.docstrings.values()) for size in sizes]),
        ("functions", "", [len(size.functions) for size in sizes]),
        ("lines of the longest function but one in ten", "", [s.functions[len(s.functions) * 9 // 10] for s in sizes]),
    ]  # fmt: skip
    _print_table(["", *revisions, "aim"], [(name, [*values], aim) for name, aim, values in rows])
    apps = sorted({"/".join(name.split("/")[:2]) for size in sizes for name in size.files})
    folders = [(app, [size.lines(f"{app.rstrip('/')}/") for size in sizes], "") for app in apps]
    print()
    _print_table(["code + imports below", *revisions, ""], folders)


def _print_table(head: list[str], rows: list[tuple[str, list[int], str]]) -> None:
    print(f"| {' | '.join(head)} |")
    print(f"|---|{'--:|' * (len(head) - 1)}")
    for name, values, aim in rows:
        print(f"| {name} | {' | '.join(f'{value:,}' for value in values)} | {aim} |")


if __name__ == "__main__":
    main()
