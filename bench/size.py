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
KEEPERS = frozenset({"dict", "defaultdict", "OrderedDict", "WeakKeyDictionary"})
CHANGES = frozenset({"setdefault", "update", "pop", "popitem", "clear", "__setitem__"})
MEMOS = frozenset({"cache", "lru_cache"})


@dataclass(slots=True)
class Size:
    """What a revision has; lines of code and imports and files by folder, functions by their lengths, ascending."""

    code: Counter[str] = field(default_factory=Counter)
    imports: Counter[str] = field(default_factory=Counter)
    docstrings: Counter[str] = field(default_factory=Counter)
    whole: Counter[str] = field(default_factory=Counter)
    files: Counter[str] = field(default_factory=Counter)
    classes: int = 0
    caches: list[str] = field(default_factory=list)
    memos: int = 0
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
        size.caches += [f"{name}: {each}" for each in caches_of(tree)]
        size.memos += sum(_is_memo(node) for node in ast.walk(tree))
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


def caches_of(tree: ast.Module) -> list[str]:
    """The dicts that a module keeps at its top and that its functions change.

    One that nothing changes is a table. One that only functions called `add_…` change is a register, which the apps
    fill when they start.
    """
    kept = {name: _is_defaultdict(node) for node in tree.body for name in _names_of_dicts(node)}
    changed: set[str] = set()
    for function in ast.walk(tree):
        if isinstance(function, ast.FunctionDef) and not function.name.startswith("add_"):
            changed |= {name for name, fills in kept.items() if _changes(function, name, fills=fills)}
    return sorted(changed)


def _names_of_dicts(node: ast.stmt) -> list[str]:
    if not isinstance(node, ast.Assign | ast.AnnAssign) or node.value is None:
        return []
    targets = node.targets if isinstance(node, ast.Assign) else [node.target]
    made = node.value.func if isinstance(node.value, ast.Call) else None
    is_dict = isinstance(node.value, ast.Dict | ast.DictComp) or (
        made is not None and ast.unparse(made).rpartition(".")[2] in KEEPERS
    )
    return [each.id for each in targets if isinstance(each, ast.Name)] if is_dict else []


def _is_defaultdict(node: ast.stmt) -> bool:
    value = getattr(node, "value", None)
    return isinstance(value, ast.Call) and ast.unparse(value.func).endswith("defaultdict")


def _changes(function: ast.FunctionDef, name: str, *, fills: bool) -> bool:
    """Whether a function changes the dict of this name; `fills`: reading a key puts it there."""
    for node in ast.walk(function):
        match node:
            case ast.Subscript(value=ast.Name(id=found), ctx=context) if found == name:
                if fills or not isinstance(context, ast.Load):
                    return True
            case ast.Attribute(value=ast.Name(id=found), attr=attr) if found == name and attr in CHANGES:
                return True
            case ast.Global(names=names) if name in names:
                return True
    return False


def _is_memo(node: ast.AST) -> bool:
    """Whether it is a function whose answers `functools` keeps."""
    if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        return False
    return any(
        isinstance(part, ast.Name) and part.id in MEMOS
        for each in node.decorator_list
        for part in ast.walk(each)
    )


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
        ("dicts that a module keeps and changes", "4", [len(size.caches) for size in sizes]),
        ("functions whose answers functools keeps", "", [size.memos for size in sizes]),
        ("lines of docstrings", "", [sum(size.docstrings.values()) for size in sizes]),
        ("functions", "", [len(size.functions) for size in sizes]),
        ("lines of the longest function but one in ten", "", [s.functions[len(s.functions) * 9 // 10] for s in sizes]),
    ]  # fmt: skip
    _print_table(["", *revisions, "aim"], [(name, [*values], aim) for name, aim, values in rows])
    apps = sorted({"/".join(name.split("/")[:2]) for size in sizes for name in size.files})
    folders = [(app, [size.lines(f"{app.rstrip('/')}/") for size in sizes], "") for app in apps]
    print()
    _print_table(["code + imports below", *revisions, ""], folders)
    print()
    print("Dicts that a module keeps and changes:")
    for each in sizes[-1].caches:
        print(f"- {each}")


def _print_table(head: list[str], rows: list[tuple[str, list[int], str]]) -> None:
    print(f"| {' | '.join(head)} |")
    print(f"|---|{'--:|' * (len(head) - 1)}")
    for name, values, aim in rows:
        print(f"| {name} | {' | '.join(f'{value:,}' for value in values)} | {aim} |")


if __name__ == "__main__":
    main()
