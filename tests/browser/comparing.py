"""Two pictures of one page: are they alike?

Letters are drawn a little otherwise by another release of Chromium, or with other hints of the same font, so pixels
are not compared one by one. Both pictures are shrunk to cells of 8 by 8 pixels; a cell differs when a colour of it does
by more than `TOLERANCE`. The page has changed when too many cells differ (`SHARE`: something is shifted), or many side
by side (`CROWDED`: a chip of another colour, a column that is gone). Measured on these pages: with fully hinted letters
0.004 % of the cells differ, and 11 % of a tile; shifted by three pixels 0.4 %, chips of another colour 100 % of a tile.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageFilter

CELL, TILE = 8, 3
TOLERANCE = 32
"""Of 255. Letters drawn otherwise and the palette stay below it."""
SHARE = 0.002
CROWDED = 0.3
"""Of the cells of a tile, which is 24 by 24 pixels."""

Cells = NDArray[np.bool_]


@dataclass(frozen=True)
class Difference:
    """What two pictures differ in. `share` of all cells, and of those of the tile in which most do."""

    share: float
    crowd: float
    cells: Cells

    @property
    def is_grave(self) -> bool:
        return self.share > SHARE or self.crowd > CROWDED

    def __str__(self) -> str:
        most = f"at most {SHARE:.1%} and {CROWDED:.0%} may"
        return f"{self.share:.2%} of it differs, {self.crowd:.0%} of one place ({most})"


def difference(before: Image.Image, after: Image.Image) -> Difference:
    """How far apart two pictures of one size are."""
    assert before.size == after.size, f"{before.size} is now {after.size}"
    first, second = _cells(before), _cells(after)
    cells: Cells = np.abs(first - second).max(axis=2) > TOLERANCE
    return Difference(float(cells.mean()), _most_crowded(cells), cells)


def _cells(picture: Image.Image) -> NDArray[np.int16]:
    return np.asarray(picture.convert("RGB").reduce(CELL), dtype=np.int16)


def _most_crowded(cells: Cells) -> float:
    """The largest share of a tile; tiles overlap, or what lies across two of them would count half."""
    sums = np.pad(cells.cumsum(0).cumsum(1), ((1, 0), (1, 0)))
    inside = sums[TILE:, TILE:] - sums[:-TILE, TILE:] - sums[TILE:, :-TILE] + sums[:-TILE, :-TILE]
    return float(inside.max()) / TILE**2


def keep(picture: Image.Image, path: Path) -> None:
    """A reference, small. This way of choosing 256 colours keeps the rare ones, such as a warning's."""
    few = picture.convert("RGB").quantize(256, Image.Quantize.FASTOCTREE, dither=Image.Dither.NONE)
    few.save(path, optimize=True)


def marked(after: Image.Image, found: Difference) -> Image.Image:
    """The picture, pale, with a red ground where it differs."""
    mask = Image.fromarray(found.cells.astype(np.uint8) * 255).resize(after.size, Image.Resampling.NEAREST)
    pale = Image.blend(after.convert("RGB"), Image.new("RGB", after.size, "white"), 0.6)
    red = Image.blend(after.convert("RGB"), Image.new("RGB", after.size, "red"), 0.6)
    return Image.composite(red, pale, mask.filter(ImageFilter.MaxFilter(3)))
