"""Make static/vendor again from the npm packages that deploy/frontend pins: `make vendor`.

Two things are changed on the way, so that the console can live under `default-src 'self'` and collectstatic
can follow every reference: images inside the style sheet become files, and the pointer to a source map is cut
off. A third, because a browser reads a style sheet before it shows anything: of Tabler's only the rules are kept
whose classes are all in deploy/frontend/classes.txt. manifest.json lists every file with its SHA-256; a test compares.
"""

import hashlib
import json
import re
import shutil
import subprocess
import tempfile
from pathlib import Path
from urllib.parse import unquote

ROOT = Path(__file__).resolve().parents[2]
FRONTEND = ROOT / "deploy" / "frontend"
VENDOR = ROOT / "static" / "vendor"

SOURCE_MAP = re.compile(r"\s*/\*# sourceMappingURL=[^*]*\*/\s*$")
SVG_IN_CSS = re.compile(r'url\("data:image/svg\+xml,([^"]*)"\)')
# What every Tabler icon has around its paths: an empty square that only says how large it is.
ICON_FRAME = re.compile(r'\s*<path stroke="none" d="M0 0h24v24H0z" fill="none" ?/>\s*')
ICON_BODY = re.compile(r"<svg[^>]*>(.*)</svg>", re.DOTALL)
# Of a minified style sheet: what is between a brace, a semicolon or the start and the next brace or semicolon.
CSS_PIECE = re.compile(r"""((?:[^{};"']|"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')*)([{};])""")
CSS_COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
CLASS = re.compile(r"\.([A-Za-z_-](?:[\w-]|\\.)*)")
NEGATED = re.compile(r":not\([^()]*\)")
# Other parts of Tabler and Bootstrap: their scripts and their own switch between light and dark.
NOT_OURS = "[data-bs-"
GROUPS = ("@media", "@supports", "@container", "@layer")


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="giveway-vendor-") as folder:
        work = Path(folder)
        made = work / "vendor"
        packages = fetch(work)
        htmx(packages / "htmx.org", made / "htmx")
        tabler(packages / "@tabler" / "core", made / "tabler")
        icons(packages / "@tabler" / "icons", made / "icons")
        (made / "manifest.json").write_text(manifest(made), encoding="utf-8")
        shutil.rmtree(VENDOR, ignore_errors=True)
        shutil.copytree(made, VENDOR)
    print(f"{VENDOR.relative_to(ROOT)}: {sum(1 for path in VENDOR.rglob('*') if path.is_file())} files")


def fetch(work: Path) -> Path:
    """Install exactly what package-lock.json says, running no package's scripts; returns node_modules."""
    for name in ("package.json", "package-lock.json"):
        shutil.copy(FRONTEND / name, work)
    command = ["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"]
    subprocess.run(command, cwd=work, check=True)
    return work / "node_modules"


def htmx(package: Path, target: Path) -> None:
    target.mkdir(parents=True)
    shutil.copy(package / "dist" / "htmx.min.js", target)
    shutil.copy(package / "LICENSE", target)


def tabler(package: Path, target: Path) -> None:
    target.mkdir(parents=True)
    css = (package / "dist" / "css" / "tabler.min.css").read_text(encoding="utf-8")
    css = only(css, listed("classes.txt"))
    css = SVG_IN_CSS.sub(lambda match: image_file(unquote(match[1]), target), SOURCE_MAP.sub("\n", css))
    if left := re.findall(r"url\((?!\"img/).{0,60}|@import.{0,60}|sourceMappingURL.{0,60}", css):
        raise SystemExit(f"tabler.min.css still refers to: {left}")
    (target / "tabler.min.css").write_text(css, encoding="utf-8")
    shutil.copy(FRONTEND / "LICENSE.tabler", target / "LICENSE")


def listed(name: str) -> set[str]:
    """The names in one of the lists of deploy/frontend."""
    lines = (FRONTEND / name).read_text(encoding="utf-8").splitlines()
    return {line for line in lines if line and not line.startswith("#")}


def only(css: str, classes: set[str]) -> str:
    """The rules of a minified style sheet that may be about what the console shows: those without any class, and those
    whose classes are all among `classes`. Animations stay."""
    written: list[str] = []
    open_at: list[int] = []
    """Where in `written` each block begins that is open."""
    whole = 0
    """How many blocks are open within one that is kept as it is."""
    for before, mark in CSS_PIECE.findall(CSS_COMMENT.sub("", css)):
        if mark == ";":
            written.append(f"{before};")
        elif mark == "{":
            inside = bool(whole) or not before.startswith(GROUPS)
            kept = before if whole or before.startswith("@") else selectors(before, classes)
            whole += inside
            open_at.append(len(written))
            written.append(f"{kept}{{" if kept else "")
        else:
            whole -= bool(whole)
            begin = open_at.pop()
            if written[begin] and (before or len(written) > begin + 1):
                written.append(f"{before}}}")
            else:
                del written[begin:]
    return "".join(written)


def selectors(prelude: str, classes: set[str]) -> str:
    """Those of a rule that are kept."""
    each = re.split(r",(?![^(]*\))", prelude)
    named = {one: set(CLASS.findall(NEGATED.sub("", one))) for one in each if NOT_OURS not in one}
    return ",".join(one for one in named if named[one] <= classes)


def image_file(svg: str, target: Path) -> str:
    """Write an image out, once, named after its content; returns the CSS that refers to it."""
    name = f"img/{hashlib.sha256(svg.encode()).hexdigest()[:12]}.svg"
    path = target / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(svg + "\n", encoding="utf-8")
    return f'url("{name}")'


def icons(package: Path, target: Path) -> None:
    """One file with a <symbol> per icon: <svg class="icon"><use href=".../sprite.svg#name"/></svg>."""
    target.mkdir(parents=True)
    names = sorted(listed("icons.txt"))
    symbols = [symbol(name, package / "icons" / "outline" / f"{name}.svg") for name in names]
    sprite = '<svg xmlns="http://www.w3.org/2000/svg">\n' + "\n".join(symbols) + "\n</svg>\n"
    (target / "sprite.svg").write_text(sprite, encoding="utf-8")
    shutil.copy(package / "LICENSE", target)


def symbol(name: str, source: Path) -> str:
    """The stroke's width is left to the page (`.icon` of the style sheet says 1.5)."""
    body = ICON_BODY.search(source.read_text(encoding="utf-8"))
    if body is None:
        raise SystemExit(f"{source} is not an SVG")
    paths = " ".join(ICON_FRAME.sub("", body[1]).split())
    return (
        f'<symbol id="{name}" viewBox="0 0 24 24" fill="none" stroke="currentColor"'
        f' stroke-linecap="round" stroke-linejoin="round">{paths}</symbol>'
    )


def manifest(made: Path) -> str:
    """Versions and the SHA-256 of every file, by its path inside static/vendor."""
    wanted = json.loads((FRONTEND / "package.json").read_text(encoding="utf-8"))["dependencies"]
    files = {
        path.relative_to(made).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(made.rglob("*"))
        if path.is_file()
    }
    return json.dumps({"packages": wanted, "files": files}, indent=2) + "\n"


if __name__ == "__main__":
    main()
