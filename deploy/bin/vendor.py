"""Make static/vendor again from the npm packages that deploy/frontend pins: `make vendor`.

Two things are changed on the way, so that the console can live under `default-src 'self'` and collectstatic
can follow every reference: images inside the style sheet become files, and the pointer to a source map is cut
off. A third, because a browser reads a style sheet before it shows anything: of Tabler's only what the console uses is
kept (deploy/frontend/purge.mjs). manifest.json lists every file with its SHA-256; a test compares.
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

SVG_IN_CSS = re.compile(r'url\("data:image/svg\+xml,([^"]*)"\)')
# What every Tabler icon has around its paths: an empty square that only says how large it is.
ICON_FRAME = re.compile(r'\s*<path stroke="none" d="M0 0h24v24H0z" fill="none" ?/>\s*')
ICON_BODY = re.compile(r"<svg[^>]*>(.*)</svg>", re.DOTALL)
CSS_COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="giveway-vendor-") as folder:
        work = Path(folder)
        made = work / "vendor"
        packages = fetch(work)
        htmx(packages / "htmx.org", made / "htmx")
        tabler(work, made / "tabler")
        icons(packages / "@tabler" / "icons", made / "icons")
        (made / "manifest.json").write_text(manifest(made), encoding="utf-8")
        shutil.rmtree(VENDOR, ignore_errors=True)
        shutil.copytree(made, VENDOR)
    print(f"{VENDOR.relative_to(ROOT)}: {sum(1 for path in VENDOR.rglob('*') if path.is_file())} files")


def fetch(work: Path) -> Path:
    """Install exactly what package-lock.json says, running no package's scripts; returns node_modules."""
    for name in ("package.json", "package-lock.json", "classes.txt", "purge.mjs"):
        shutil.copy(FRONTEND / name, work)
    command = ["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"]
    subprocess.run(command, cwd=work, check=True)
    return work / "node_modules"


def htmx(package: Path, target: Path) -> None:
    target.mkdir(parents=True)
    shutil.copy(package / "dist" / "htmx.min.js", target)
    shutil.copy(package / "LICENSE", target)


def tabler(work: Path, target: Path) -> None:
    target.mkdir(parents=True)
    command = ["node", "purge.mjs", str(ROOT / "static" / "css")]
    css = subprocess.run(command, cwd=work, check=True, capture_output=True, text=True).stdout
    css = CSS_COMMENT.sub("", css).rstrip() + "\n"
    css = SVG_IN_CSS.sub(lambda match: image_file(unquote(match[1]), target), css)
    if left := re.findall(r"url\((?!\"img/).{0,60}|@import.{0,60}|sourceMappingURL.{0,60}", css):
        raise SystemExit(f"tabler.min.css still refers to: {left}")
    (target / "tabler.min.css").write_text(css, encoding="utf-8")
    shutil.copy(FRONTEND / "LICENSE.tabler", target / "LICENSE")


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
    lines = (FRONTEND / "icons.txt").read_text(encoding="utf-8").splitlines()
    names = sorted({line for line in lines if line and not line.startswith("#")})
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
