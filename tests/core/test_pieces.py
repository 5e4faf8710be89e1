"""A long answer in pieces: it is one gzip file."""

import gzip
import zlib
from collections.abc import Iterator

from console.core.pieces import compressed


def texts(first: int, last: int) -> list[bytes]:
    return [f"a line with the number {number}\n".encode() for number in range(first, last)]


def test_what_is_there_goes_out_before_the_rest_is_made() -> None:
    made: list[bytes] = []

    def parts() -> Iterator[bytes]:
        for part in texts(0, 3):
            made.append(part)
            yield part

    reader, told = zlib.decompressobj(zlib.MAX_WBITS | 16), compressed(parts())
    first = next(told)
    assert reader.decompress(first) == made[0]
    assert len(made) == 1
    rest = list(told)
    assert gzip.decompress(b"".join([first, *rest])) == b"".join(texts(0, 3))
    assert gzip.decompress(b"".join(compressed([]))) == b""
